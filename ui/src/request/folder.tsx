import { Tooltip } from "antd";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";

/** A folder whose end stays in sight; the whole path is in its tooltip. */
export function Folder({ path }: { path: string }) {
  const { client } = useRequestStrings();
  const text = visible(path);
  return (
    <Tooltip title={text} trigger={["hover", "focus", "click"]}>
      {/* A button, so that the whole path is in reach of the keyboard and of a finger. */}
      <button type="button" className="folder" aria-label={client.folder(text)} data-testid="client-folder"><bdi dir="ltr">{text}</bdi></button>
    </Tooltip>
  );
}
