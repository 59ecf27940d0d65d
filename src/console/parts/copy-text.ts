/**
 * Copies text to the clipboard, also where browsers withhold the clipboard API: on pages that came over plain HTTP from
 * another machine. Call it from a click or a key press, because browsers allow it only then.
 *
 * @returns whether the browser copied the text.
 */
export async function copyText(text: string): Promise<boolean> {
  // Undefined on such pages, contrary to its type.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) {
    try {
      await clipboard.writeText(text);
      return true;
    } catch {
      // The browser or its policy may forbid only this way.
    }
  }
  return copySelected(text);
}

/** Copies text with the older command, which copies what is selected. The page looks the same afterwards. */
function copySelected(text: string): boolean {
  const span = document.createElement('span');
  span.textContent = text;
  span.ariaHidden = 'true';
  Object.assign(span.style, {
    position: 'fixed',
    top: '0',
    whiteSpace: 'pre',
    userSelect: 'text',
    clipPath: 'inset(50%)',
  });
  // A span takes no focus, unlike a text field, so an open dialog keeps the focus.
  document.body.append(span);
  const before = selectedRange();
  let hasCopied = false;
  const write = (event: ClipboardEvent) => {
    // The exact text, without a format or changed white space.
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopImmediatePropagation();
    hasCopied = event.clipboardData !== null;
  };
  document.addEventListener('copy', write, { capture: true });
  try {
    selectText(span);
    return document.execCommand('copy') && hasCopied;
  } catch {
    return false;
  } finally {
    document.removeEventListener('copy', write, { capture: true });
    span.remove();
    getSelection()?.removeAllRanges();
    if (before) getSelection()?.addRange(before);
  }
}

function selectedRange(): Range | undefined {
  const selection = getSelection();
  return selection && selection.rangeCount > 0 ? selection.getRangeAt(0) : undefined;
}

/** Selects all of the text in an element or a text field, so that the user can copy it. */
export function selectText(element: Element): void {
  if (element instanceof HTMLInputElement) element.select();
  else getSelection()?.selectAllChildren(element);
}
