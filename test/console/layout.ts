import type { Page } from 'playwright-core';

/** WCAG 2.2, 2.5.8 (AA). */
const SMALLEST_TARGET_PIXELS = 24;

/**
 * Returns the parts of a page that can't be seen or reached at the tab's current size.
 *
 * @param within the part of the page to look at. While a dialog is open, it covers everything else.
 */
export async function layoutFaults(page: Page, within = 'body'): Promise<string[]> {
  // This function runs in the page, so it can't use anything from outside its body.
  return page.evaluate(
    ([smallest, inside]) => {
      const width = document.documentElement.clientWidth;
      const name = (element: Element) => {
        const text = element.getAttribute('aria-label') ?? element.textContent?.trim() ?? '';
        return `${element.tagName.toLowerCase()} “${text.slice(0, 40)}”`;
      };
      const faults: string[] = [];
      const sideways = document.documentElement.scrollWidth - width;
      if (sideways > 0) {
        const scrolls = (element: Element) => /auto|scroll|hidden/.test(getComputedStyle(element).overflowX);
        const isWide = (element: Element) => {
          if (element.getBoundingClientRect().right <= width + 1) return false;
          for (let above = element.parentElement; above && above !== document.body; above = above.parentElement) {
            if (scrolls(above)) return false;
          }
          return true;
        };
        const wide = [...document.querySelectorAll('body *')].filter(isWide).at(-1);
        faults.push(`the page is ${sideways} px too wide because of ${wide ? name(wide) : 'something'}`);
      }

      // Source code isn't wrapped, so it may scroll.
      for (const element of document.querySelectorAll('main *, [role=dialog] *, [role=menu] *')) {
        if (!element.closest(inside)) continue;
        const { overflowX } = getComputedStyle(element);
        const hidden = element.scrollWidth - element.clientWidth;
        const isSource = element.closest('pre, [data-keeps-lines]') !== null;
        if (/auto|scroll/.test(overflowX) && hidden > 1 && element.clientWidth > 0 && !isSource) {
          faults.push(`${hidden} px of ${name(element)} must be scrolled to`);
        }
      }

      const isInText = (element: Element) => element.matches('a') && getComputedStyle(element).display === 'inline';
      /** True if a click in the middle of the element reaches it. Otherwise, what the click reaches instead. */
      const reached = (element: Element): true | Element | null => {
        const [first] = element.getClientRects();
        const { left, top, width: w, height: h } = (isInText(element) && first) || element.getBoundingClientRect();
        const hit = document.elementFromPoint(left + w / 2, top + h / 2);
        return hit && (element.contains(hit) || hit.contains(element)) ? true : hit;
      };
      const controls =
        'a[href], button, input, select, textarea, [role=button], [role=tab], [role=switch], [role=menuitem], [role=option], summary';
      for (const element of document.querySelectorAll<HTMLElement>(controls)) {
        if (!element.closest(inside)) continue;
        if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        if (element.closest('.visually-hidden, .skip-link, [aria-hidden=true], [inert]')) continue;
        // Inputs of switches, checkboxes, and radio buttons. Users see and touch their labels instead.
        if (element.matches('input') && (element as HTMLInputElement).labels?.length) continue;
        // Scrolling takes most of the time, and what is in view already needs none.
        let isReached = reached(element);
        if (isReached !== true) {
          element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
          isReached = reached(element);
        }
        const rect = element.getBoundingClientRect();
        if (rect.width === 0 || rect.height === 0) continue;
        if (rect.left < -1 || rect.right > width + 1) {
          faults.push(`${name(element)} is outside: ${Math.round(rect.left)} to ${Math.round(rect.right)} px`);
          continue;
        }
        const isNarrow = !element.matches('a') && rect.width < smallest;
        if (!isInText(element) && (isNarrow || rect.height < smallest)) {
          faults.push(`${name(element)} is ${Math.round(rect.width)} × ${Math.round(rect.height)} px`);
        }
        if (isReached !== true)
          faults.push(`${name(element)} is covered by ${isReached ? name(isReached) : 'nothing'}`);
      }
      window.scrollTo(0, 0);
      return [...new Set(faults)];
    },
    [SMALLEST_TARGET_PIXELS, within] as const,
  );
}

/** Makes the tab measure unexpected layout shifts on each page that it opens. Call it before the page opens. */
export async function watchMoves(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const watched = window as typeof window & { movedShare: number };
    watched.movedShare = 0;
    new PerformanceObserver((list) => {
      const shifts = list.getEntries() as (PerformanceEntry & { value: number })[];
      watched.movedShare += shifts.reduce((sum, { value }) => sum + value, 0);
    }).observe({ type: 'layout-shift', buffered: true });
  });
}

/** The page's layout shift since it opened. 0 means that nothing moved. Source: https://web.dev/articles/cls */
export function movedShare(page: Page): Promise<number> {
  return page.evaluate(() => (window as typeof window & { movedShare: number }).movedShare);
}
