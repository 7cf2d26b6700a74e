import { Typography } from "antd";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";

/** Copies what is shown: a character that hides on the page must not hide in the clipboard either. */
export function CopyButton({ text }: { text: string }) {
  const strings = useStrings();
  return (
    <Typography.Text
      className="copy-button"
      copyable={{ text: visible(text), tooltips: [strings.copyText, strings.copiedText] }}
    />
  );
}
