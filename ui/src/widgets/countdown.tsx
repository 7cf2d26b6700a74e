import { Tag } from "antd";
import { useStrings } from "../strings";
import { useNow } from "./time";

function remaining(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}:${two(minutes % 60)}:${two(seconds % 60)}` : `${Math.floor(hours / 24)} d`;
}

interface CountdownProps {
  until: string;
  kind: "due" | "expires";
}

export function Countdown({ until, kind }: CountdownProps) {
  const strings = useStrings();
  const seconds = Math.floor((new Date(until).getTime() - useNow()) / 1_000);
  if (seconds < 0) return <Tag color="warning">{kind === "due" ? strings.overdue : strings.deadlinePassed}</Tag>;
  return (
    <time className="countdown" dateTime={until} title={until}>
      {kind === "due" ? strings.dueIn(remaining(seconds)) : strings.expiresIn(remaining(seconds))}
    </time>
  );
}
