"""Recognizes files that are no text by their first bytes."""

from realm_tf import errors

# First bytes of files that pyarrow reads.
TABLES = (b'PAR1', b'ARROW1', b'\xff\xff\xff\xff')
# First bytes -> kind.
_KINDS = {
  b'PK\x03\x04': 'a zip archive (.zip, .docx, .xlsx, .odt or .epub)',
  b'PK\x05\x06': 'an empty zip archive',
  b'7z\xbc\xaf\x27\x1c': 'a 7z archive',
  b'Rar!\x1a': 'a RAR archive',
  b'\x28\xb5\x2f\xfd': 'compressed with zstd',
  b'\x04\x22\x4d\x18': 'compressed with lz4',
  b'\x1f\x9d': 'compressed with compress',
  b'%PDF': 'a PDF',
  b'%!PS': 'PostScript',
  b'{\\rtf': 'an RTF document',
  b'\xd0\xcf\x11\xe0': 'an old Word or Excel document',
  b'\x00\x00\xfe\xff': 'UTF-32 text',
  b'\xff\xfe\x00\x00': 'UTF-32 text',
  b'\xff\xfe': 'UTF-16 text',
  b'\xfe\xff': 'UTF-16 text',
  b'SQLite format 3': 'an SQLite database',
  b'PAR1': 'a Parquet file',
  b'ARROW1': 'an Arrow file',
  b'\xff\xff\xff\xff': 'an Arrow stream',
  b'FEA1': 'a Feather file of version 1',
  b'Obj\x01': 'an Avro file',
  b'ORC': 'an ORC file',
  b'\x89HDF': 'an HDF5 file',
  b'\x93NUMPY': 'a NumPy array',
  b'\x89PNG': 'a picture',
  b'\xff\xd8\xff': 'a picture',
  b'GIF8': 'a picture',
  b'\x7fELF': 'a program',
}
_PICKLES = tuple(b'\x80%c' % version for version in range(2, 6))
_HTML = b'<!doctype html', b'<html'
_TAR_MARK = slice(257, 262)
_NUM_HTML = 1024  # Bytes to search for the mark of an HTML page.


def check(path: str, head: bytes) -> None:
  """Raises UserError if a file with the first bytes `head` is no text."""
  kind = name(head)
  if kind:
    raise errors.UserError(
      f'{path} must be plain text in UTF-8 here. Found {kind}. Unpack or '
      'convert it.'
    )


def name(head: bytes) -> str:
  """Returns the kind of a file, 'a PDF'; '' if it may be text."""
  for beginning, kind in _KINDS.items():
    if head.startswith(beginning):
      return kind
  if head[_TAR_MARK] == b'ustar':
    return 'a tar archive'
  if head.startswith(_PICKLES):
    return 'a pickle'
  if b'\0' in head:
    is_wide = head[1::2].count(0) + head[::2].count(0) >= len(head) // 3
    return 'UTF-16 text without a mark' if is_wide else 'binary data'
  return 'an HTML page' if _is_html(head) else ''


def _is_html(head: bytes) -> bool:
  text = head[:_NUM_HTML].removeprefix(b'\xef\xbb\xbf').lstrip().lower()
  return text.startswith(_HTML) or (
    text.startswith(b'<?xml') and any(mark in text for mark in _HTML)
  )
