import { createElement } from "react";
import { useRequestStrings } from "../strings/detail";
import { MarkedText } from "../widgets/agent-text";
import { visible } from "../base/visible";
import { clipText } from "./clip";
import { CodeView } from "./code-view";
import { MoreButton, useExpansion } from "./expansion";
import type { Mail } from "./shape";

/** Of many recipients the first are shown. */
const recipients = 20;

/** A mail as it would be sent: who, what about, and the text. HTML is shown as its source. */
export function MailView({ mail: { people, subject, bodies } }: { mail: Mail }) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const { values } = strings;
  const head = clipText(visible(subject), level);
  const names = people.map(([name, all]) => {
    const shown = level > 0 ? all : all.slice(0, recipients);
    return (
      <div key={name} data-testid={`mail-${name}`}>
        <dt>{values.mailNames[name] ?? visible(name)}</dt>
        <dd>
          {createElement("ul", { className: "mail-people" }, ...shown.map((one) => createElement("li", null, <MarkedText text={visible(one)} />)))}
          {shown.length < all.length && <MoreButton label={values.morePeople(all.length - shown.length)} onExpand={expand} />}
        </dd>
      </div>
    );
  });
  return (
    <div className="mail">
      <dl className="value-pairs">
        {names}
        <div data-testid="mail-subject">
          <dt>{values.mailNames.subject}</dt>
          <dd><strong><MarkedText text={head.text} /></strong>{head.hidden && <MoreButton label={values.moreOf(head.hidden)} onExpand={expand} />}</dd>
        </div>
      </dl>
      {bodies.map(([name, text]) => (
        <div key={name} data-testid={`mail-${name}`}>
          {bodies.length > 1 && <code className="quiet">{visible(name)}</code>}
          {/^html/.test(name) || /^\s*<(?:!doctype|html|body|div|p|table)\b/i.test(text) ? <CodeView text={text} language="markup" /> : <CodeView text={text} />}
        </div>
      ))}
    </div>
  );
}
