import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';
import { link, type PicturePage } from './page.ts';

type Text = { type: 'mrkdwn' | 'plain_text'; text: string };
type Block =
  | { type: 'header'; text: Text }
  | { type: 'section'; fields: Text[] }
  | { type: 'context'; elements: Text[] };

const STYLE = `
.frame { width: 660px; padding: 14px 20px; background: #fff; color: #1d1c1d; display: flex; gap: 8px; }
.avatar { flex: none; width: 36px; height: 36px; border-radius: 6px; background: #1a8a4f; color: #fff; font: bold 18px/36px 'Liberation Sans'; text-align: center; }
.from { font-weight: bold; }
.app { background: #e8e8e8; color: #616061; font-size: 10px; padding: 1px 3px; border-radius: 2px; margin: 0 4px; font-weight: bold; }
.time { color: #616061; font-size: 12px; font-weight: normal; }
.header { font-size: 18px; font-weight: bold; margin: 4px 0 8px; }
.section { display: grid; grid-template-columns: 1fr 1fr; gap: 5px 12px; margin-bottom: 5px; overflow-wrap: anywhere; }
.context { font-size: 12px; color: #616061; margin-top: 8px; }
a { color: #1264a3; }
`;

/** Renders a message's blocks the way Slack shows them (https://docs.slack.dev/reference/block-kit/blocks). */
export function slackPage(body: string): PicturePage {
  const { blocks }: { blocks: Block[] } = JSON.parse(body);
  const rows = blocks.map((block) => {
    if (block.type === 'header') return `<div class="header">${show(block.text)}</div>`;
    if (block.type === 'context') return `<div class="context">${block.elements.map(show).join(' ')}</div>`;
    return `<div class="section">${block.fields.map((field) => `<div>${show(field)}</div>`).join('')}</div>`;
  });
  const from = '<div class="from">Tollgate <span class="app">APP</span> <span class="time">9:26 AM</span></div>';
  return {
    style: STYLE,
    body: `<div class="frame"><div class="avatar">T</div><div>${from}${rows.join('')}</div></div>`,
  };
}

function show({ type, text }: Text): string {
  if (type === 'plain_text') return escapeHtml(decode(text));
  return text
    .split(/(<[^>]*>|\*[^*]+\*)/)
    .map((part) => {
      const [, date] = /^<!date\^\d+\^[^|]*\|([^>]*)>$/.exec(part) ?? [];
      if (date !== undefined) return escapeHtml(decode(date));
      const [, url, label] = /^<([^|>]*)\|([^>]*)>$/.exec(part) ?? [];
      if (url !== undefined) return link(decode(url), decode(label!));
      const [, bold] = /^\*(.+)\*$/.exec(part) ?? [];
      return bold === undefined ? escapeHtml(decode(part)) : `<b>${escapeHtml(decode(bold))}</b>`;
    })
    .join('');
}

function decode(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
