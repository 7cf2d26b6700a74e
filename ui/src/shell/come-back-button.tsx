import { Button } from "antd";
import { useComeBack } from "../api/absences";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";

/** End the person's absence. */
export function BackButton() {
  const { away } = useStrings();
  const comeBack = useComeBack();
  return (
    <>
      <Button size="small" loading={comeBack.isPending} onClick={() => comeBack.mutate()} data-testid="come-back">{away.back}</Button>
      <Problem error={comeBack.error} />
    </>
  );
}
