import { Button } from "antd";
import { useState } from "react";
import { useStrings } from "../strings";

const firstPart = 4_000;

/** Text as it is, which is readable text already; a very long one shows its beginning first. */
export function Shortened({ text }: { text: string }) {
  const strings = useStrings();
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > firstPart;
  return (
    <>
      <code className="json">{cut ? `${text.slice(0, firstPart)}…` : text}</code>
      {cut && <Button size="small" type="link" onClick={() => setWhole(true)}>{strings.showAll(text.length)}</Button>}
    </>
  );
}
