import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';
import type { PicturePage } from './page.ts';

type Mail = { subject: string; from: string; to: string; html: string };

const STYLE = `
.frame { width: 680px; background: #fff; color: #1f2328; border: 1px solid #d0d7de; }
.head { padding: 14px 24px; border-bottom: 1px solid #d0d7de; font-size: 13px; color: #656d76; }
.subject { font-size: 18px; font-weight: bold; color: #1f2328; margin-bottom: 4px; }
`;

/** Shows an email's subject and addresses, with its HTML below. */
function mailPage({ subject, from, to, html }: Mail): PicturePage {
  const [, attributes = '', content = ''] = /<body([^>]*)>(.*)<\/body>/s.exec(html) ?? [];
  return {
    style: STYLE,
    body: `<div class="frame"><div class="head"><div class="subject">${escapeHtml(subject)}</div>
From: ${escapeHtml(from)}<br>To: ${escapeHtml(to)}</div><div${attributes}>${content}</div></div>`,
  };
}

/** The request body of the SendGrid connector. */
export function sendgridPage(body: string): PicturePage {
  const { subject, from, personalizations, content } = JSON.parse(body);
  const html = content.find(({ type }: { type: string }) => type === 'text/html').value;
  return mailPage({ subject, html, from: `${from.name} <${from.email}>`, to: personalizations[0].to[0].email });
}

/** The request body of the Resend connector. */
export function resendPage(body: string): PicturePage {
  const { subject, from, to, html } = JSON.parse(body);
  return mailPage({ subject, html, from, to: to.join(', ') });
}
