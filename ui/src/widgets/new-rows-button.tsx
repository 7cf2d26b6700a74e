import { Button } from "antd";
import "./new-rows-button.css";

interface NewRowsButtonProps {
  label: string;
  count: number;
  onClick: () => void;
}

/** A button over a list that shows how many new rows wait; it moves nothing when it appears. */
export function NewRowsButton({ label, count, onClick }: NewRowsButtonProps) {
  return (
    <output className="new-rows">
      {count > 0 && <Button size="small" shape="round" type="primary" onClick={onClick} data-testid="new-rows">{label}</Button>}
    </output>
  );
}
