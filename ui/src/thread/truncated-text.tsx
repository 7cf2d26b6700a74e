import { Button } from "antd";
import { useState } from "react";
import { useStrings } from "../strings";

const maxLength = 4_000;

/** A readable text; a very long one shows its beginning first. */
export function TruncatedText({ text }: { text: string }) {
  const strings = useStrings();
  const [isExpanded, setExpanded] = useState(false);
  const isShortened = !isExpanded && text.length > maxLength;
  return (
    <>
      <code className="json">{isShortened ? `${text.slice(0, maxLength)}…` : text}</code>
      {isShortened && <Button size="small" type="link" onClick={() => setExpanded(true)}>{strings.showAll(text.length)}</Button>}
    </>
  );
}
