import { Tag } from "antd";
import type { ThreadStatus } from "../api/types";
import { useStrings } from "../strings";

const colours: Record<ThreadStatus, string> = {
  idle: "default", running: "processing", interrupted: "warning", done: "success", error: "error",
};

export function ThreadStatusTag({ status, testId }: { status: ThreadStatus; testId?: string }) {
  const strings = useStrings();
  return <Tag color={colours[status]} data-testid={testId} data-status={status}>{strings.threadStatuses[status]}</Tag>;
}
