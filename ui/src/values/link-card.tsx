import { Card } from "antd";
import { useRequestStrings } from "../strings/detail";
import { visible } from "../base/visible";
import { clipText, useExpansion } from "./expansion";
import { MoreButton } from "./more-button";

/** A link with the host that it really leads to, in letters that cannot be taken for others; its target learns nothing about this page. */
export function LinkCard({ url }: { url: string }) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const { hostname, port, protocol, username, password } = new URL(url);
  const { text, hidden } = clipText(visible(url), level);
  const isSigned = username !== "" || password !== "";
  return (
    <Card size="small" className="link-card">
      <div className="link-host"><strong data-testid="link-host">{hostname}{port && `:${port}`}</strong>{protocol === "http:" && <span className="quiet"> {strings.values.notEncrypted}</span>}</div>
      {isSigned && <div className="error-text" data-testid="link-warning">{strings.values.signedLink}</div>}
      <a href={url} target="_blank" rel="noopener noreferrer nofollow" className="display-link">{text}</a>
      {hidden && <MoreButton label={strings.values.moreOf(hidden)} onExpand={expand} />}
    </Card>
  );
}
