#!/usr/bin/env bash
# Makes the Python environment for all scripts, once.
#
#   source launch/environment.sh      # then "$PYTHON" is its interpreter
#   bash launch/environment.sh        # only makes it
#
# The environment is .venv, or $REALM_VENV. Its Python is $REALM_PYTHON or the
# first of python3.13 to python3.10 and python3 that works and is in range. Its
# packages have the exact versions of constraints.txt. A stamp holds the hash of
# setup.py, pyproject.toml and constraints.txt: while the hash stays the same, a
# second run installs nothing.

# A version manager's shim may exist for a version that is not installed.
realm_fits() {  # PYTHON
  "$1" -c 'import sys, venv, ensurepip
sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

realm_find_python() {
  local candidate found=
  local candidates=(python3.13 python3.12 python3.11 python3.10 python3)
  if [ -n "${REALM_PYTHON:-}" ]; then
    candidates=("$REALM_PYTHON")
  fi
  for candidate in "${candidates[@]}"; do
    if realm_fits "$candidate"; then
      command -v "$candidate"
      return 0
    fi
    found=${found:-$("$candidate" --version 2>/dev/null)}
  done
  echo 'Python 3.10, 3.11, 3.12 or 3.13 must be installed, with its module' \
    "venv: TensorFlow 2.20 supports no other. Found ${found:-no Python 3}." \
    'Install one, or name it: REALM_PYTHON=/path/to/python3.13' >&2
  return 2
}

# Shows pip's few hundred lines of output as one moving line.
realm_show_progress() {  # TOTAL
  local line count=0 end='\n' every=50
  if [ -t 1 ]; then
    end='\r' every=1
  fi
  while IFS= read -r line; do
    case $line in
      Collecting\ * | Processing\ *.whl | Requirement\ already\ *)
        count=$((count + 1))
        if [ $((count % every)) -eq 0 ]; then
          printf "  %d of about $1 packages found$end" "$count"
        fi ;;
      Installing\ collected\ packages*)
        printf '  %d packages found; unpacking, some minutes more\n' "$count" ;;
    esac
  done
}

realm_pip_install() {  # ROOT VENV
  # Source packages must be built with the pinned setuptools, too. The flag -c
  # would not reach their builds; PIP_CONSTRAINT does.
  PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_CONSTRAINT=$1/constraints.txt \
    "$2/bin/python" -m pip install --no-compile -e "$1[test]" 2>&1 |
    tee "$2/realm_tf.install.log" |
    realm_show_progress "$(grep == "$1/constraints.txt" | grep -vc '< "3.11"')"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then
    grep -v '^WARNING' "$2/realm_tf.install.log" | tail -n 20 >&2
    echo 'pip must be able to install the pinned packages. Above is why it' \
      'could not; fix that and run the command again.' >&2
    return 2
  fi
  # Once, before many processes import the same: a fifth of the packages' files.
  (cd "$1" && env -u PYTHONDONTWRITEBYTECODE "$2/bin/python" \
    -c 'from launch import preloaded') >/dev/null 2>&1 || true
}

realm_make_environment() {
  local root venv stamp wanted python
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || return
  venv=${REALM_VENV:-$root/.venv}
  stamp=$venv/realm_tf.stamp
  wanted=$(cat "$root"/{setup.py,pyproject.toml,constraints.txt} | cksum) ||
    return
  wanted="$wanted $root"  # The editable install points at this folder.
  if [ -x "$venv/bin/python" ] &&
      [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    echo "Environment: $venv (nothing to install)"
  else
    # Without pip, the environment is missing or only half made.
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
      python=$(realm_find_python) || return
      echo "Environment: making $venv with $python"
      "$python" -m venv "$venv" || return
    fi
    echo "Environment: installing into $venv; the first time takes some" \
      'minutes and 4 GB'
    realm_pip_install "$root" "$venv" || return
    echo "$wanted" > "$stamp"
  fi
  PYTHON=$venv/bin/python
}

export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-3}
realm_make_environment || {
  realm_status=$?
  return "$realm_status" 2>/dev/null || exit "$realm_status"
}
