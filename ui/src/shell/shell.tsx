import { useQuery } from "@tanstack/react-query";
import { Alert, Button, Tag, Empty } from "antd";
import { Suspense, useState, useEffect, useRef, type MouseEvent } from "react";
import { useAway } from "../api/absences";
import { call } from "../api/call";
import { useFeed } from "../api/feed";
import { useCounts } from "../api/requests";
import type { TroublePage } from "../api/schema";
import { useInfo } from "../api/session";
import type { Session } from "../api/types";
import { lazyWithRetry, useMedia } from "../base/browser";
import { useKeys } from "../base/keys";
import { go, Link, idIn, usePath } from "../base/router";
import { visible } from "../base/visible";
import { Inbox } from "../inbox/inbox";
import { useApplicationPages } from "../request/applications";
import { useStrings } from "../strings";
import type { Language } from "../strings/language";
import { Loading } from "../widgets/loading";
import { KeyCaps } from "./key-caps";
import { useNotifications, useBadge, usePendingCount } from "./notifications";
import { PreferenceSelect } from "./preference-select";
import "./shell.css";

const maxCount = 100;

/** Return the number of runs that need an operator as text; empty for none. */
function useTroubleCount({ role }: Session): string {
  const { data } = useQuery({
    queryKey: ["operations", "count"],
    queryFn: () => call<TroublePage>("GET", `/v1/operations?limit=${maxCount}`),
    enabled: role !== "agent",
    // The feed has no event for a failed run.
    refetchInterval: 15_000,
  });
  const count = data?.items.length ?? 0;
  return count === 0 ? "" : `${count}${data?.next ? "+" : ""}`;
}

const Help = lazyWithRetry(() => import("./help"));
const Palette = lazyWithRetry(() => import("./palette"));
const Menu = lazyWithRetry(() => import("./menu"));

function PageLinks({ page, session }: { page: string; session: Session }) {
  const strings = useStrings();
  const own = useApplicationPages();
  const count = usePendingCount();
  const troubles = useTroubleCount(session);
  useBadge(count);
  return (
    <nav aria-label={strings.pages}>
      <Link to="/" className="brand">Ringi</Link>
      <Link to="/" current={page === "inbox"}>{strings.inbox} <span className="nav-count" data-testid="pending-count">{count}</span></Link>
      <Link to="/threads" current={page === "threads"}>{strings.threads}</Link>
      {session.role !== "auditor" && (
        <>
          <Link to="/chat" current={page === "chat"}>{strings.chatPage}</Link>
          {own.map(({ name, label }) => <Link key={name} to={`/${name}`} current={page === name}>{label[strings.language as Language]}</Link>)}
          <Link to="/memory" current={page === "memory"}>{strings.memoryPage}</Link>
        </>
      )}
      <Link to="/overview" current={page === "overview"}>{strings.overviewPage}</Link>
      {(troubles || session.role === "admin") && (
        <Link to="/operations" current={page === "operations"}>{strings.operations} {troubles}</Link>
      )}
    </nav>
  );
}

function StatusTags() {
  const strings = useStrings();
  const connection = useFeed(useNotifications());
  const info = useInfo().data;
  return (
    <>
      <output>
        {connection === "held" && <Tag color="warning" style={{ whiteSpace: "normal" }} data-testid="held-back" title={strings.heldBackWhy}>{strings.heldBack}</Tag>}
        {connection === "lost" && <Tag color="warning" data-testid="reconnecting">{strings.reconnecting}</Tag>}
      </output>
      {info?.scripted && <Tag data-testid="scripted">{strings.scriptedModel}</Tag>}
      {info?.model && !info.scripted && <Tag>{visible(info.model)}</Tag>}
    </>
  );
}

function useShortcuts(session: Session, openHelp: () => void, openPalette: () => void): void {
  const strings = useStrings();
  const own = useApplicationPages();
  useKeys(strings.everywhere, [
    { key: "g i", label: strings.inbox, run: () => go("/") },
    { key: "g t", label: strings.threads, run: () => go("/threads") },
    { key: "g v", label: strings.overviewPage, run: () => go("/overview") },
    { key: "g a", label: strings.grantsPage, run: () => go("/grants") },
    ...(session.role === "auditor" ? [] : [
      { key: "g c", label: strings.chatPage, run: () => go("/chat") },
      ...own.map(({ name, label, pageKey }) => ({ key: pageKey, label: label[strings.language as Language], run: () => go(`/${name}`) })),
      { key: "g m", label: strings.memoryPage, run: () => go("/memory") },
    ]),
    ...(session.role === "admin" ? [{ key: "g o", label: strings.operations, run: () => go("/operations") }] : []),
    { key: "mod+k", label: strings.palette.open, run: openPalette, whileTyping: true },
    { key: "?", label: strings.help, run: openHelp },
  ]);
}

/** The header of every page: navigation and settings. */
function Header({ page, session }: { page: string; session: Session }) {
  const strings = useStrings();
  const isNarrow = useMedia("(max-width: 960px)");
  const [open, setOpen] = useState<"help" | "menu" | "palette">();
  const close = () => setOpen(undefined);
  useShortcuts(session, () => setOpen("help"), () => setOpen("palette"));
  return (
    <header className="page-header">
      <PageLinks page={page} session={session} />
      <div className="page-header-end">
        <StatusTags />
        {!isNarrow && (
          <Button type="text" size="small" className="open-palette" title={strings.palette.open} aria-haspopup="dialog" onClick={() => setOpen("palette")} data-testid="open-palette">
            <span className="palette-word">{strings.palette.title} </span><KeyCaps shortcut="mod+k" />
          </Button>
        )}
        {!isNarrow && <><PreferenceSelect of="language" /><PreferenceSelect of="theme" /></>}
        <Button
          type="text" size="small" className="session-menu" aria-haspopup="dialog" data-testid="open-menu"
          title={visible(session.name)} onClick={() => setOpen("menu")}
        >
          <span className="visually-hidden">{strings.menu}: </span>
          <span className="session-menu-name" data-testid="session-name">{visible(session.name)}</span>
          <span aria-hidden="true"> ☰</span>
        </Button>
      </div>
      <Suspense fallback={null}>
        {open === "help" && <Help page={page} onClose={close} />}
        {open === "palette" && <Palette onClose={close} onMenu={() => setOpen("menu")} />}
        {open === "menu" && <Menu session={session} onClose={close} onHelp={() => setOpen("help")} />}
      </Suspense>
    </header>
  );
}

const AbsenceBanner = lazyWithRetry(() => import("./absence-banner"));
const ThreadPage = lazyWithRetry(() => import("../thread/thread-page"));
const ThreadsPage = lazyWithRetry(() => import("../thread/threads-page"));
const ChatPage = lazyWithRetry(() => import("../chat/chat-page"));
const MemoryPage = lazyWithRetry(() => import("../memory/memory-page"));
const GrantsPage = lazyWithRetry(() => import("../grants/grants-page"));
const SessionPage = lazyWithRetry(() => import("../sessions/session-page"));
const OverviewPage = lazyWithRetry(() => import("../overview/overview-page"));
const OperationsPage = lazyWithRetry(() => import("../operations/operations-page"));

const isPage = (path: string, name: string) => path === `/${name}` || idIn(path, `/${name}/`) !== undefined;

function nameOf(path: string, own: ReturnType<typeof useApplicationPages>): string {
  if (path === "/" || idIn(path, "/r/") !== undefined || idIn(path, "/sessions/") !== undefined) return "inbox";
  if (path === "/threads" || idIn(path, "/t/") !== undefined) return "threads";
  if (path === "/chat" || idIn(path, "/chat/") !== undefined) return "chat";
  if (path === "/memory") return "memory";
  if (path === "/grants") return "grants";
  if (path === "/overview") return "overview";
  if (path === "/operations") return "operations";
  return own.find(({ name }) => isPage(path, name))?.name ?? "none";
}

function Route({ path }: { path: string }) {
  const strings = useStrings();
  const pages = useApplicationPages();
  const thread = idIn(path, "/t/");
  if (thread !== undefined) return <ThreadPage key={thread} id={thread} />;
  if (path === "/threads") return <ThreadsPage />;
  const chat = idIn(path, "/chat/");
  // No key by id: the first message of a new chat changes the id, and the page must stay mounted.
  if (path === "/chat" || chat !== undefined) return <ChatPage id={chat} />;
  const own = pages.find(({ name }) => isPage(path, name));
  if (own) return <own.Page id={idIn(path, `/${own.name}/`)} />;
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
function useFocusOnPage(page: string) {
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
  const page = nameOf(path, useApplicationPages());
  const main = useFocusOnPage(page);
  const absence = useAway().data?.absence;
  const skip = (event: MouseEvent) => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a className="skip" href="#main" onClick={skip}>{strings.skipToContent}</a>
      <Header page={page} session={session} />
      {useInfo().data?.no_deliveries && <Alert banner type="warning" title={strings.copyOfStore} data-testid="copy-of-store" />}
      {absence && <Suspense fallback={null}><AbsenceBanner absence={absence} /></Suspense>}
      <main className="main" id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading className="page-column" />}><Route path={path} /></Suspense>
      </main>
    </>
  );
}
