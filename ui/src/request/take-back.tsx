import { Button } from "antd";
import { isStatus } from "../api/call";
import { useUndo } from "../api/requests";
import { useRequestStrings } from "../strings/detail";
import { explain } from "../widgets/problem";

/** A link that takes the person's own reassignment back, until somebody acts on the request. */
export function TakeBack({ id, onDone }: { id: string; onDone: () => void }) {
  const strings = useRequestStrings();
  const undo = useUndo({ id });
  const { error } = undo;
  const isTooLate = isStatus(error, 404) || isStatus(error, 409);
  return (
    <>
      {error && <span role="alert" data-testid="not-taken-back">{isTooLate ? strings.actedSince : explain(error, strings)}</span>}
      {!isTooLate && (
        <Button type="link" size="small" loading={undo.isPending} data-testid="take-back" onClick={() => undo.mutate(undefined, { onSuccess: onDone })}>
          {strings.takeBack}
        </Button>
      )}
    </>
  );
}
