import { Image } from "antd";
import { fileAddress } from "../api/attachments";
import type { AttachedFile as File } from "../api/schema";
import { visible } from "../widgets/visible";
import { formatSize } from "./files";
import { useRequestStrings } from "./strings";

/** A file that a person attached: its name is a download link, and an image is shown too. */
export default function AttachedFile({ id, file }: { id: string; file: File }) {
  const strings = useRequestStrings();
  const name = visible(file.name);
  const address = fileAddress(id, file.number);
  return (
    <figure className="attached" data-testid={`attached-${file.number}`}>
      <figcaption>
        <a href={address} download={file.name} className="display-link">{name}</a>{" "}
        <span className="quiet">{formatSize(file.size, strings)}</span>
      </figcaption>
      {file.media_type.startsWith("image/") && <Image src={address} alt={name} className="display-image" />}
    </figure>
  );
}
