import { Typography } from "antd";
import { useStrings } from "../strings";
import { visible } from "../base/visible";

/** Copy the visible text, with hidden characters escaped. */
export function CopyButton({ text }: { text: string }) {
  const strings = useStrings();
  return (
    <Typography.Text
      className="copy-button"
      copyable={{ text: visible(text), tooltips: [strings.copyText, strings.copiedText] }}
    />
  );
}
