import { Tag } from "antd";
import type { ThreadStatus } from "../api/types";
import { useStrings } from "../strings";

const colours: Record<ThreadStatus, string> = {
  idle: "default", running: "processing", interrupted: "warning", done: "success", error: "error",
};

export function ThreadStatusTag({ status }: { status: ThreadStatus }) {
  const strings = useStrings();
  return <Tag color={colours[status]} data-testid="thread-status" data-status={status}>{strings.threadStatuses[status]}</Tag>;
}
