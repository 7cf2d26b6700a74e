import { Suspense } from "react";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { ownPart } from "../request/voting";
import { lazyWithRetry } from "../base/lazy";

const Notices = lazyWithRetry(() => import("../request/held-answer"));

/** The person's held answers to requests that are not open, over the page. */
export function HeldNotices({ requests }: { requests: Request[] }) {
  const me = useSession().data?.name;
  const held = requests.filter((request) => ownPart(request, me) === "held");
  return held.length > 0 && <Suspense fallback={null}><Notices requests={held} /></Suspense>;
}
