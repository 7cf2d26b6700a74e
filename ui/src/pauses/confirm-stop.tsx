import { Button, Flex, Input } from "antd";
import { useEffect, useId, useRef, useState } from "react";
import { useRunAction, useThread } from "../api/threads";
import type { Thread } from "../api/types";
import { useStrings } from "../strings";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import "./confirm-stop.css";

interface ConfirmStopProps {
  thread: string;
  how: "cancel" | "abandon";
  onBack: () => void;
  onDone: (thread: Thread) => void;
}

/** The open requests that end with the run, by title. */
function EndingRequests({ thread }: { thread: string }) {
  const strings = useStrings();
  const { data, error, refetch } = useThread(thread, false);
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading title={false} paragraph={{ rows: 2 }} />;
  if (data.pending.length === 0) return <p>{strings.cancelsNoRequest}</p>;
  return (
    <div>
      <p>{strings.cancelsRequests(data.pending.length)}</p>
      <ul data-testid="will-end">{data.pending.map(({ id, title }) => <li key={id}>{visible(title)}</li>)}</ul>
    </div>
  );
}

/** The confirmation before a run is stopped: what ends with it, and the reason. */
export function ConfirmStop({ thread, how, onBack, onDone }: ConfirmStopProps) {
  const strings = useStrings();
  const id = useId();
  const steer = useRunAction(how);
  const [reason, setReason] = useState("");
  const stopStrings = strings.stopActions[how];
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.querySelector("textarea")?.focus(), []);
  const stop = () => !steer.isPending && steer.mutate({ thread, reason: reason.trim() || undefined }, { onSuccess: onDone });
  useKeys(stopStrings.title, [
    { key: "mod+Enter", label: stopStrings.confirm, run: stop, whileTyping: true, once: true },
    { key: "Escape", label: stopStrings.back, run: onBack, whileTyping: true },
  ]);
  return (
    <section
      ref={panel} className="confirm-stop" aria-label={stopStrings.title} data-testid={`confirm-${how}-panel`}
    >
      <strong>{stopStrings.title}</strong>
      <EndingRequests thread={thread} />
      <label htmlFor={id}>{stopStrings.reason}</label>
      <Input.TextArea
        id={id} value={reason} maxLength={500} autoSize={{ minRows: 2, maxRows: 6 }} data-testid={`${how}-reason`}
        onChange={(event) => setReason(event.target.value)}
      />
      <Problem error={steer.error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" loading={steer.isPending} onClick={stop} data-testid={`confirm-${how}`}>{stopStrings.confirm}</Button>
        <Button onClick={onBack} disabled={steer.isPending} data-testid={`keep-${how}`}>{stopStrings.back}</Button>
      </Flex>
    </section>
  );
}
