import type { Request } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { useMessages } from "../widgets/messages";
import { visible } from "../base/visible";

const seconds = 12;

/** Return a function that says that an answered request was a check: the page has moved on to the next one. */
export function useCheckMessage(): (completed: Request) => void {
  const { voting: { check } } = useRequestStrings();
  const messages = useMessages();
  return ({ check_result: result }) => {
    if (!result) return;
    const [type, text] = result.caught ? (["success", check.caught] as const) : (["warning", check.missed] as const);
    void messages.open({ type, content: `${text} ${visible(check.because(result.because))}`, duration: seconds });
  };
}
