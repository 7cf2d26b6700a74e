import { Button } from "antd";
import "./waiting.css";

interface WaitingProps {
  words: string;
  count: number;
  onClick: () => void;
}

/** Over the head of a list, so that nothing moves when it comes: new rows wait until the reader lets them in. */
export function Waiting({ words, count, onClick }: WaitingProps) {
  return (
    <output className="rows-waiting">
      {count > 0 && <Button size="small" shape="round" type="primary" onClick={onClick} data-testid="rows-waiting">{words}</Button>}
    </output>
  );
}
