import { escapeHtml } from '../../src/connectors/shared/plain-text.ts';
import type { PicturePage } from './page.ts';

const STYLE = `
.frame { width: 360px; padding: 16px; background: #fff; }
.from { text-align: center; color: #8a8a8e; font-size: 12px; margin-bottom: 8px; }
.bubble { background: #e9e9eb; color: #000; border-radius: 18px; padding: 8px 14px; width: fit-content; max-width: 300px; white-space: pre-wrap; overflow-wrap: anywhere; }
`;

/** Renders the Twilio connector's SMS the way a phone shows it. */
export function smsPage(body: string): PicturePage {
  const form = new URLSearchParams(body);
  return {
    style: STYLE,
    body: `<div class="frame"><div class="from">${escapeHtml(form.get('From') ?? '')}</div><div class="bubble">${escapeHtml(form.get('Body') ?? '')}</div></div>`,
  };
}
