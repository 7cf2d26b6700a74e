import { createElement } from "react";
import { useRequestStrings } from "../strings/detail";
import type { CallBlock } from "./client-call";
import { Figure } from "./display-blocks";

/** The blocks that show a client's call; what they show stands in its arguments. The header has the folder already. */
export default function CallBlocks({ blocks, folder }: { blocks: CallBlock[]; folder: string | undefined }) {
  const { client } = useRequestStrings();
  return (
    <div className="display call" data-testid="call">
      {createElement("div", { className: "display-blocks" }, ...blocks.map(({ block, title, isBeforeUnchecked }) =>
        createElement(Figure, {
          block, title: title === folder ? null : title, hasHead: false, note: isBeforeUnchecked ? client.beforeUnchecked : undefined,
        })))}
    </div>
  );
}
