import { visibleJson } from "../base/visible";
import { MarkedText } from "./marked-text";

export function JsonValue({ value, testId }: { value: unknown; testId?: string }) {
  return <code className="json" data-testid={testId}><MarkedText text={visibleJson(value)} /></code>;
}
