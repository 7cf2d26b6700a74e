import { Empty } from "antd";
import { Suspense, useEffect, useRef, type MouseEvent } from "react";
import { useAway } from "../api/absences";
import { useCounts } from "../api/counts";
import type { Session } from "../api/types";
import { Inbox } from "../inbox/inbox";
import { useStrings } from "../strings";
import { lazyWithRetry } from "../base/lazy";
import { idIn, Link, usePath } from "../base/router";
import { Loading } from "../widgets/loading";
import { Header } from "./header";
import type { PageName } from "./help";
import "./shell.css";

const AbsenceBanner = lazyWithRetry(() => import("./absence-banner"));
const ThreadPage = lazyWithRetry(() => import("../thread/thread-page"));
const ThreadsPage = lazyWithRetry(() => import("../thread/threads-page"));
const ChatPage = lazyWithRetry(() => import("../chat/chat-page"));
const LearningPage = lazyWithRetry(() => import("../learning/learning-page"));
const MemoryPage = lazyWithRetry(() => import("../memory/memory-page"));
const GrantsPage = lazyWithRetry(() => import("../grants/grants-page"));
const SessionPage = lazyWithRetry(() => import("../sessions/session-page"));
const OverviewPage = lazyWithRetry(() => import("../overview/overview-page"));
const OperationsPage = lazyWithRetry(() => import("../operations/operations-page"));

function nameOf(path: string): PageName {
  if (path === "/" || idIn(path, "/r/") !== undefined || idIn(path, "/sessions/") !== undefined) return "inbox";
  if (path === "/threads" || idIn(path, "/t/") !== undefined) return "threads";
  if (path === "/chat" || idIn(path, "/chat/") !== undefined) return "chat";
  if (path === "/learning" || idIn(path, "/learning/") !== undefined) return "learning";
  if (path === "/memory") return "memory";
  if (path === "/grants") return "grants";
  if (path === "/overview") return "overview";
  if (path === "/operations") return "operations";
  return "none";
}

function Route({ path }: { path: string }) {
  const strings = useStrings();
  const thread = idIn(path, "/t/");
  if (thread !== undefined) return <ThreadPage key={thread} id={thread} />;
  if (path === "/threads") return <ThreadsPage />;
  const chat = idIn(path, "/chat/");
  // No key by id: the first message of a new chat changes the id, and the page must stay mounted.
  if (path === "/chat" || chat !== undefined) return <ChatPage id={chat} />;
  const learning = idIn(path, "/learning/");
  if (path === "/learning" || learning !== undefined) return <LearningPage id={learning} />;
  if (path === "/memory") return <MemoryPage />;
  if (path === "/grants") return <GrantsPage />;
  if (path === "/overview") return <OverviewPage />;
  if (path === "/operations") return <OperationsPage />;
  const session = idIn(path, "/sessions/");
  if (session !== undefined) return <SessionPage key={session} id={session} />;
  const request = idIn(path, "/r/");
  if (path === "/" || request !== undefined) return <Inbox openId={request} />;
  return <Empty className="page-column" image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.notFound} data-testid="no-page"><Link to="/">{strings.inbox}</Link></Empty>;
}

/** Room between the current link and the edges of the header's links, in pixels: what continues fades there. */
const fade = 36;

/** Scroll the header's links to the current one. `scrollIntoView` would also make it the place from which the next Tab starts. */
function revealCurrentLink() {
  const link = document.querySelector(".page-header [aria-current]");
  const nav = link?.closest("nav");
  if (!link || !nav) return;
  const [inner, outer] = [link.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (inner.left < outer.left + fade) nav.scrollLeft += inner.left - outer.left - fade;
  else if (inner.right > outer.right - fade) nav.scrollLeft += inner.right - outer.right + fade;
}

/** Move the focus to the main content when the page changes. */
function useFocusOnPage(page: PageName) {
  const isCounted = useCounts() !== undefined;
  const main = useRef<HTMLElement>(null);
  const before = useRef(page);
  useEffect(() => {
    if (before.current !== page) main.current?.focus();
    before.current = page;
  }, [page]);
  useEffect(() => {
    // On a phone the links of the header scroll, and the first count moves them.
    if (isCounted && page !== "none") revealCurrentLink();
  }, [page, isCounted]);
  return main;
}

/** The page of a signed-in person. */
export function Shell({ session }: { session: Session }) {
  const strings = useStrings();
  const path = usePath();
  const main = useFocusOnPage(nameOf(path));
  const absence = useAway().data?.absence;
  const skip = (event: MouseEvent) => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a className="skip" href="#main" onClick={skip}>{strings.skipToContent}</a>
      <Header page={nameOf(path)} session={session} />
      {absence && <Suspense fallback={null}><AbsenceBanner absence={absence} /></Suspense>}
      <main className="main" id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading className="page-column" />}><Route path={path} /></Suspense>
      </main>
    </>
  );
}
