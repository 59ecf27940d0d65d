import type { PicturePage } from './page.ts';

const STYLE = `
html { background: #d5e2c6; }
.frame { width: 520px; padding: 16px; background: #d5e2c6; }
.bubble { background: #fff; border-radius: 12px 12px 12px 3px; padding: 8px 12px; font-size: 14px; overflow-wrap: anywhere; }
.from { color: #3390ec; font-weight: bold; }
.text { white-space: pre-wrap; }
.text code { color: #3474a6; font-size: 13px; }
.text a { color: #3390ec; }
.time { color: #8a8a8a; font-size: 11px; text-align: right; }
`;

/**
 * Renders a message the way Telegram shows it. The text is HTML with a few tags
 * (https://core.telegram.org/bots/api#html-style).
 */
export function telegramPage(body: string): PicturePage {
  const { text }: { text: string } = JSON.parse(body);
  return {
    style: STYLE,
    body: `<div class="frame"><div class="bubble"><div class="from">Payments</div><div class="text">${text}</div><div class="time">9:26</div></div></div>`,
  };
}
