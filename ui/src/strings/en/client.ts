/** The strings of calls of clients outside of Ringi, and of their sessions. */
export const client = {
  folder: (path: string) => `Folder ${path}`,
  session: (count: string | null) => (count === null ? "session" : `session, ${count} open`),
  argumentsAbove: (count: number) => `Arguments shown above (${count})`,
  beforeUnchecked: "The text before the change comes from the client (not checked).",
  sessionOf: (name: string) => `Session of ${name}`,
  open: (count: string) => `${count} open`,
  noneOpen: "Nothing is open in this session. New requests appear here.",
  showOlder: "Show older requests",
  next: "Next request",
  previous: "Previous request",
};

export type Client = typeof client;
