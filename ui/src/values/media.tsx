import { Button, Image } from "antd";
import { useRequestStrings } from "../strings/detail";
import { formatBytes } from "../base/size";
import { visible } from "../base/visible";
import { PdfPages } from "./pdf-pages";

interface MediaProps {
  media: string;
  /** The file in base64. */
  data: string;
  name: string;
}

const sizeOf = (data: string) => Math.floor((data.replace(/=+$/, "").length * 3) / 4);

/** An image from the bytes of the value itself. */
export function ImageView({ media, data, name }: MediaProps) {
  const strings = useRequestStrings();
  return (
    <>
      <Image src={`data:${media};base64,${data}`} alt={name} className="display-image" />
      <div className="quiet">{media} · {formatBytes(sizeOf(data), strings.language)}</div>
    </>
  );
}

const bytesOf = (data: string) => Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));

function save(data: string, media: string, name: string) {
  const url = URL.createObjectURL(new Blob([bytesOf(data)], { type: media }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** A PDF: pictures of its pages, and the file to save. */
export function PdfView({ media, data, name }: MediaProps) {
  const strings = useRequestStrings();
  return (
    <>
      <div className="attach-line" data-testid="pdf">
        <span>PDF · {formatBytes(sizeOf(data), strings.language)}</span>
        <Button size="small" onClick={() => save(data, media, `${name.replace(/[^\w-]+/g, "_") || "document"}.pdf`)} data-testid="save-pdf">{strings.values.savePdf}</Button>
      </div>
      <PdfPages key={data} name={visible(name)} load={async () => bytesOf(data)} />
    </>
  );
}
