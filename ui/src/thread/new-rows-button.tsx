import { Button } from "antd";
import "./new-rows-button.css";

interface NewRowsButtonProps {
  label: string;
  count: number;
  onClick: () => void;
}

/** Over the head of a list, so that nothing moves when it comes: new rows wait until the reader lets them in. */
export function NewRowsButton({ label, count, onClick }: NewRowsButtonProps) {
  return (
    <output className="new-rows">
      {count > 0 && <Button size="small" shape="round" type="primary" onClick={onClick} data-testid="new-rows">{label}</Button>}
    </output>
  );
}
