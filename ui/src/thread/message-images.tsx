import { Image } from "antd";
import { visible } from "../base/visible";

export interface MessageImage {
  url: string;
  name: string;
}

/** The images of a message, from this page or from its server. */
export function MessageImages({ images }: { images: MessageImage[] }) {
  return (
    <div className="message-images">
      {images.map(({ url, name }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the same image may stand there twice, and none ever moves
        <Image key={index} src={url} alt={visible(name)} />
      ))}
    </div>
  );
}
