import { useQueryClient } from "@tanstack/react-query";
import { Button, Skeleton, Tag } from "antd";
import { lazy, Suspense, useEffect } from "react";
import { useFeed } from "./api/feed";
import { useRequests } from "./api/requests";
import { signOut, useInfo } from "./api/session";
import type { Session } from "./api/types";
import { Inbox } from "./inbox/inbox";
import { useStrings } from "./strings";
import { idIn, Link, usePath } from "./widgets/router";
import { visible } from "./widgets/visible";

const ThreadPage = lazy(() => import("./thread/thread-page"));
const ThreadsPage = lazy(() => import("./thread/threads-page"));

/** How many requests wait, as far as they are loaded: "50+" rather than a number that is not known. */
function usePendingCount(): string {
  const { data, hasNextPage } = useRequests("pending");
  const count = data?.pages.reduce((sum, page) => sum + page.items.length, 0) ?? 0;
  return count === 0 ? "" : `${count}${hasNextPage ? "+" : ""}`;
}

function Header({ path, session }: { path: string; session: Session }) {
  const strings = useStrings();
  const client = useQueryClient();
  const connection = useFeed();
  const info = useInfo().data;
  const count = usePendingCount();
  useEffect(() => {
    document.title = count ? `(${count}) Ringi` : "Ringi";
  }, [count]);
  const threads = path === "/threads" || path.startsWith("/t/");
  return (
    <header className="top">
      <nav>
        <Link to="/" className="brand">Ringi</Link>
        <Link to="/" current={!threads}>{strings.inbox} <span data-testid="pending-count">{count}</span></Link>
        <Link to="/threads" current={threads}>{strings.threads}</Link>
      </nav>
      <div className="top-end">
        {connection === "lost" && <Tag color="warning" data-testid="reconnecting">{strings.reconnecting}</Tag>}
        {info?.scripted && <Tag data-testid="scripted">{strings.scripted}</Tag>}
        {info?.model && !info.scripted && <Tag>{visible(info.model)}</Tag>}
        <span data-testid="session-name">{visible(session.name)}</span>
        <Button type="text" size="small" onClick={() => void signOut(client)}>{strings.signOut}</Button>
      </div>
    </header>
  );
}

function Route({ path }: { path: string }) {
  const strings = useStrings();
  const thread = idIn(path, "/t/");
  if (thread !== undefined) return <ThreadPage key={thread} id={thread} />;
  if (path === "/threads") return <ThreadsPage />;
  const request = idIn(path, "/r/");
  if (path === "/" || request !== undefined) return <Inbox openId={request} />;
  return <main className="column"><p>{strings.notFound}</p><Link to="/">{strings.inbox}</Link></main>;
}

/** The page of somebody who is signed in. */
export function Shell({ session }: { session: Session }) {
  const path = usePath();
  return (
    <>
      <Header path={path} session={session} />
      <Suspense fallback={<Skeleton active className="column" />}><Route path={path} /></Suspense>
    </>
  );
}
