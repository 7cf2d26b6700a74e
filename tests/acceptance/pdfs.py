"""PDFs as plain bytes: whole, damaged, locked, with a script, and such as ask too much of a page."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence


def pdf(contents: list[bytes], *, more: Sequence[bytes] = (), **parts: bytes) -> bytes:
    """Return a file with these contents of A4 pages; its fonts are not embedded.

    Objects of `more` have the numbers from 4. Parts are of the `catalog`, each `page`, its `resources` and `fonts`,
    and of the `trailer`.
    """
    part = dict.fromkeys(("catalog", "page", "resources", "fonts", "trailer"), b"") | parts
    first = 4 + len(more)
    kids = b" ".join(b"%d 0 R" % (first + 2 * at) for at in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % part["catalog"],
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(contents), kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *more,
    ]
    for at, content in enumerate(contents):
        resources = b"/Resources << /Font << /F1 3 0 R %s >> %s >>" % (part["fonts"], part["resources"])
        own = b"/Contents %d 0 R %s %s" % (first + 2 * at + 1, resources, part["page"])
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] %s >>" % own)
        objects.append(stream(b"", content))
    body, starts = b"%PDF-1.7\n", []
    for number, value in enumerate(objects, 1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        part["trailer"],
        len(body),
    )
    return body + head + table + end


def stream(head: bytes, content: bytes, filters: bytes = b"/FlateDecode") -> bytes:
    """Return a stream, compressed unless it has another filter."""
    packed = zlib.compress(content) if filters == b"/FlateDecode" else content
    return b"<< /Length %d /Filter %s %s >>\nstream\n%s\nendstream" % (len(packed), filters, head, packed)


def written(text: str, color: str) -> bytes:
    """Return the content of a page with a line and a square of a color."""
    return f"{color} rg 60 500 200 200 re f 0 g BT /F1 32 Tf 60 740 Td ({text}) Tj ET".encode()


def with_image(size: int, content: bytes, filters: bytes) -> bytes:
    """Return a file with a page whose image comes after a square."""
    head = b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 /ColorSpace /DeviceGray"
    image = stream(head % (size, size), content, filters)
    page = written("An image", "1 0 0") + b" q 300 0 0 300 60 100 cm /I Do Q"
    return pdf([page], resources=b"/XObject << /I 4 0 R >>", more=[image])


def encoded(file: bytes) -> str:
    """Return a file as the value of an argument."""
    return b64encode(file).decode()


GOOD = pdf([written("Invoice 1182", "1 0 0"), written("Terms of payment", "0 0 1")])
BROKEN = GOOD[:60] + bytes(byte ^ 0x55 for byte in GOOD[60:])
LOCK = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>]" % (b"41" * 32, b"42" * 32)
LOCKED = pdf([written("Secret", "1 0 0")], trailer=LOCK)
SCRIPT = b"/S /JavaScript /JS (app.alert\\(1\\); app.launchURL\\('https://evil.example/'\\))"
LINK = b"<< /Type /Annot /Subtype /Link /Rect [60 500 260 700] /A << /S /URI /URI (https://evil.example/) >> >>"
ACTIVE = pdf(
    [written("It runs", "1 0 0")],
    catalog=b"/OpenAction << %s >> /AA << /WC << %s >> >>" % (SCRIPT, SCRIPT),
    page=b"/Annots [4 0 R] /AA << /O << %s >> >>" % SCRIPT,
    more=[LINK],
)
"""With scripts that run when it is opened, and a link over its square."""
SHIFT_JIS = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiKakuGo-W5 /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font"
    b" /Subtype /CIDFontType0 /BaseFont /HeiseiKakuGo-W5 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1)"
    b" /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /HeiseiKakuGo-W5 /Flags 4 /FontBBox"
    b" [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>"
)
JAPANESE = pdf([b"1 0 0 rg BT /F2 200 Tf 60 400 Td <93FA967B> Tj ET"], fonts=b"/F2 4 0 R", more=[SHIFT_JIS])
"""Its font is that of the system, and its encoding is a file of pdf.js."""
INCOMPLETE = {
    "damaged image": with_image(50, b"no JPEG 2000", b"/JPXDecode"),
    "large image": with_image(7_000, bytes(49_000_000), b"/FlateDecode"),
    "missing object": pdf([written("Before", "1 0 0") + b" /Nowhere Do"]),
    "unknown encoding": JAPANESE.replace(b"/90ms-RKSJ-H", b"/No-Such-One"),
}
