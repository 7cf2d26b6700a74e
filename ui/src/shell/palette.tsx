import { useQuery } from "@tanstack/react-query";
import { AutoComplete, Modal } from "antd";
import { useDeferredValue, type ReactNode, useRef, useState, type KeyboardEvent } from "react";
import { call } from "../api/call";
import type { Page, Request } from "../api/types";
import { shortcutGroups, type Shortcut } from "../base/keys";
import { go, requestPath } from "../base/router";
import { visible } from "../base/visible";
import { titleOf } from "../request/outcome";
import { useStrings } from "../strings";
import { languageNames, languages, useLanguage } from "../strings/language";
import { KeyCaps } from "./key-caps";
import { themes, useTheme } from "./preference-select";

interface Command {
  id: string;
  /** The text that a search looks at. */
  text: string;
  label: ReactNode;
  run: () => void;
}

interface CommandGroup {
  title: string;
  commands: Command[];
}

/** Of each group; the rest is found by more letters. A list that fits needs no scrolling, which a screen reader could not do. */
const most = 4;

const isPage = ({ key }: Shortcut) => key.startsWith("g ");

/** Run a shortcut as it is now: the page may have changed since the list was opened. */
function runShortcut(title: string, key: string): void {
  shortcutGroups().find((group) => group.title === title)?.shortcuts.find((shortcut) => shortcut.key === key)?.run();
}

/** Return the shortcuts of the page as commands; the last key of an action is the one that is shown. */
function shortcutCommands(isWanted: (shortcut: Shortcut) => boolean): Command[] {
  const commands = new Map<string, Command>();
  for (const { title, shortcuts } of shortcutGroups()) {
    for (const { key, label } of shortcuts.filter(isWanted)) {
      const line = <span className="palette-line"><span>{label}</span><KeyCaps shortcut={key} /></span>;
      commands.set(`${title} ${label}`, { id: `${title} ${key}`, text: label, label: line, run: () => runShortcut(title, key) });
    }
  }
  return [...commands.values()];
}

function useSettings(openMenu: () => void): Command[] {
  const { palette, themes: themeNames } = useStrings();
  const [language, chooseLanguage] = useLanguage();
  const [theme, chooseTheme] = useTheme();
  const command = (id: string, text: string, run: () => void): Command => ({ id, text, label: text, run });
  return [
    command("menu", palette.menu, openMenu),
    ...languages.filter((each) => each !== language).map((each) =>
      command(`language ${each}`, palette.setLanguage(languageNames[each]), () => chooseLanguage(each))),
    ...themes.filter((each) => each !== theme).map((each) => command(`theme ${each}`, palette.setTheme(themeNames[each]), () => chooseTheme(each))),
  ];
}

/** Return requests of any status that contain the text, as the server finds them. */
function useFoundRequests(text: string): Command[] {
  const strings = useStrings();
  const term = useDeferredValue(text.trim());
  const { data } = useQuery({
    queryKey: ["palette", term], enabled: term.length > 1,
    queryFn: () => call<Page<Request>>("GET", `/v1/requests?limit=${most}&q=${encodeURIComponent(term)}`),
  });
  if (term.length < 2) return [];
  return (data?.items ?? []).map((request) => ({
    id: `request ${request.id}`, text: term, run: () => go(requestPath(request.id)),
    label: (
      <span className="palette-line">
        <span>{titleOf(request, strings)}</span>
        <span className="quiet">{[strings.statuses[request.status], request.agent && visible(request.agent)].filter(Boolean).join(" · ")}</span>
      </span>
    ),
  }));
}

/** Return what the palette offers for a text, by group. */
function useCommands(text: string, openMenu: () => void): CommandGroup[] {
  const { palette } = useStrings();
  const settings = useSettings(openMenu);
  const requests = useFoundRequests(text);
  const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
  const matches = (command: Command) => words.every((word) => command.text.toLowerCase().includes(word));
  const isAction = (shortcut: Shortcut) => !isPage(shortcut) && shortcut.key !== "mod+k" && shortcut.whileTyping !== "only";
  const groups: CommandGroup[] = [
    { title: palette.actions, commands: shortcutCommands(isAction).filter(matches).slice(0, most) },
    { title: palette.requests, commands: requests },
    { title: palette.pages, commands: shortcutCommands(isPage).filter(matches).slice(0, most) },
    { title: palette.settings, commands: settings.filter(matches).slice(0, most - 2) },
  ];
  return groups.filter(({ commands }) => commands.length > 0);
}

/** The height of the list, in pixels; in a low window it is less. */
const mostHeight = 480;

/** Always below the input: above it, the list would cover what one types. */
const places = { bottomLeft: { points: ["tl", "bl"], offset: [0, 4], overflow: { adjustX: true } } };

interface PaletteProps {
  onClose: () => void;
  onMenu: () => void;
}

/** Find a request, a page, a setting or what is possible now, by keyboard alone. */
export default function Palette({ onClose, onMenu }: PaletteProps) {
  const { palette } = useStrings();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(true);
  const chosen = useRef<() => void>(undefined);
  const groups = useCommands(text, onMenu);
  const choose = (id: string) => {
    chosen.current = groups.flatMap(({ commands }) => commands).find((command) => command.id === id)?.run;
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isOwnKey = event.key === "k" && (event.metaKey || event.ctrlKey);
    if (!isOwnKey && event.key !== "Escape") return;
    event.preventDefault();
    setOpen(false);
  };
  return (
    <Modal
      open={isOpen} title={palette.title} footer={null} closable={false} width={560} onCancel={() => setOpen(false)} className="palette" data-testid="palette"
      afterClose={() => {
        onClose();
        // Only now: the dialog has given the focus back, and the action may move it.
        chosen.current?.();
      }}
    >
      <AutoComplete
        open={isOpen} autoFocus defaultActiveFirstOption value={text} listHeight={Math.min(mostHeight, window.innerHeight * 0.6)} virtual={false} builtinPlacements={places} className="palette-input" data-testid="palette-input" aria-label={palette.placeholder}
        placeholder={palette.placeholder} notFoundContent={palette.none} getPopupContainer={(input) => input.parentElement ?? document.body}
        options={groups.map(({ title, commands }) => ({ label: title, options: commands.map(({ id, label }) => ({ value: id, label })) }))}
        showSearch={{ filterOption: false, onSearch: setText }} onSelect={choose} onInputKeyDown={onKeyDown}
      />
    </Modal>
  );
}
