import { Button, Tag } from "antd";
import { Suspense, useState } from "react";
import { useFeed } from "../api/feed";
import { useInfo } from "../api/session";
import type { Session } from "../api/types";
import { useStrings } from "../strings";
import { useKeys } from "../base/keys";
import { lazyWithRetry } from "../base/lazy";
import { useMedia } from "../base/media";
import { go, Link } from "../base/router";
import { visible } from "../base/visible";
import { KeyCaps } from "./key-caps";
import { LanguageSelect, ThemeSelect } from "./preference-selects";
import { useNotifications } from "./notifications";
import { useBadge, usePendingCount } from "./pending-badge";
import { useTroubleCount } from "./use-trouble-count";
import type { PageName } from "./help";

const Help = lazyWithRetry(() => import("./help"));
const Palette = lazyWithRetry(() => import("./palette"));
const Menu = lazyWithRetry(() => import("./menu"));

function PageLinks({ page, session }: { page: PageName; session: Session }) {
  const strings = useStrings();
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
          <Link to="/learning" current={page === "learning"}>{strings.learningPage}</Link>
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
  useKeys(strings.everywhere, [
    { key: "g i", label: strings.inbox, run: () => go("/") },
    { key: "g t", label: strings.threads, run: () => go("/threads") },
    { key: "g v", label: strings.overviewPage, run: () => go("/overview") },
    { key: "g a", label: strings.grantsPage, run: () => go("/grants") },
    ...(session.role === "auditor" ? [] : [
      { key: "g c", label: strings.chatPage, run: () => go("/chat") },
      { key: "g l", label: strings.learningPage, run: () => go("/learning") },
      { key: "g m", label: strings.memoryPage, run: () => go("/memory") },
    ]),
    ...(session.role === "admin" ? [{ key: "g o", label: strings.operations, run: () => go("/operations") }] : []),
    { key: "mod+k", label: strings.palette.open, run: openPalette, whileTyping: true },
    { key: "?", label: strings.help, run: openHelp },
  ]);
}

/** The header of every page: navigation and settings. */
export function Header({ page, session }: { page: PageName; session: Session }) {
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
        {!isNarrow && <><LanguageSelect /><ThemeSelect /></>}
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
