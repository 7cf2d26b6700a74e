import { Button } from "antd";
import { KeyLabel } from "../base/keys";
import { showMoreKey } from "./expansion";

/** Say what is cut, with the way to see it. */
export function MoreButton({ label, onExpand }: { label: string; onExpand: () => void }) {
  return (
    <Button size="small" type="link" className="show-more" onClick={onExpand} data-testid="show-more">
      <KeyLabel label={label} keyName={showMoreKey} />
    </Button>
  );
}
