import { AutoComplete, Modal } from "antd";
import { useRef, useState, type KeyboardEvent } from "react";
import { useStrings } from "../strings";
import { useCommands } from "./palette-commands";

/** The height of the list, in pixels; in a low window it is less. */
const mostHeight = 480;

/** Always below the input: above it, the list would cover what one types. */
const places = { bottomLeft: { points: ["tl", "bl"], offset: [0, 4], overflow: { adjustX: true } } };

interface PaletteProps {
  onClose: () => void;
  onMenu: () => void;
}

/** Find a request, a page, a setting or what is possible now, by keyboard alone. */
export default function Palette({ onClose, onMenu }: PaletteProps) {
  const { palette } = useStrings();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(true);
  const chosen = useRef<() => void>(undefined);
  const groups = useCommands(text, onMenu);
  const choose = (id: string) => {
    chosen.current = groups.flatMap(({ commands }) => commands).find((command) => command.id === id)?.run;
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isOwnKey = event.key === "k" && (event.metaKey || event.ctrlKey);
    if (!isOwnKey && event.key !== "Escape") return;
    event.preventDefault();
    setOpen(false);
  };
  return (
    <Modal
      open={isOpen} title={palette.title} footer={null} closable={false} width={560} onCancel={() => setOpen(false)} className="palette" data-testid="palette"
      afterClose={() => {
        onClose();
        // Only now: the dialog has given the focus back, and the action may move it.
        chosen.current?.();
      }}
    >
      <AutoComplete
        open={isOpen} autoFocus defaultActiveFirstOption value={text} listHeight={Math.min(mostHeight, window.innerHeight * 0.6)} virtual={false} builtinPlacements={places} className="palette-input" data-testid="palette-input" aria-label={palette.placeholder}
        placeholder={palette.placeholder} notFoundContent={palette.none} getPopupContainer={(input) => input.parentElement ?? document.body}
        options={groups.map(({ title, commands }) => ({ label: title, options: commands.map(({ id, label }) => ({ value: id, label })) }))}
        showSearch={{ filterOption: false, onSearch: setText }} onSelect={choose} onInputKeyDown={onKeyDown}
      />
    </Modal>
  );
}
