import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintKeymap } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { Input } from '@mantine/core';
import { type ReactNode, useEffect, useEffectEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import './code-editor.css';

// Tab moves the focus, as everywhere else.
const BASICS: Extension = [
  lineNumbers(),
  foldGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  autocompletion(),
  syntaxHighlighting(classHighlighter),
  EditorView.lineWrapping,
  keymap.of([
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...completionKeymap,
    ...lintKeymap,
  ]),
];

/**
 * A code editor. It looks like the other fields and is labeled like them.
 *
 * @param extensions CodeMirror extensions: the language, its checks, and keys. Keep the same array between renders.
 * @param onCursor is called with the cursor's offset in the text.
 * @param onView is called once with CodeMirror's own object.
 */
export function CodeEditor(props: {
  label: string;
  description?: ReactNode;
  error?: string | undefined;
  value: string;
  onChange(value: string): void;
  onCursor?(offset: number): void;
  onView?(view: EditorView): void;
  extensions: Extension;
  minLines: number;
  maxLines: number;
}) {
  const { label, description, error, value, onChange, onCursor, onView, extensions, minLines, maxLines } = props;
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<EditorView>();
  const [changeable] = useState(() => ({ extensions: new Compartment(), attributes: new Compartment() }));

  const described = [description && `${id}-description`, error && `${id}-error`].filter(Boolean).join(' ');
  const attributes = useMemo(
    () =>
      EditorView.contentAttributes.of({
        'aria-labelledby': `${id}-label`,
        'aria-describedby': described,
        'aria-invalid': String(error !== undefined),
        spellcheck: 'false',
        // The editor is focusable even without `tabindex`, but not every accessibility checker knows that.
        tabindex: '0',
      }),
    [id, described, error],
  );
  const create = useEffectEvent((parent: HTMLElement) => {
    const onUpdate = EditorView.updateListener.of((update) => {
      if (update.docChanged) changed(update.state.doc.toString());
      if (update.selectionSet || update.docChanged) moved(update.state.selection.main.head);
    });
    const own = [changeable.extensions.of(extensions), changeable.attributes.of(attributes)];
    return new EditorView({
      parent,
      state: EditorState.create({ doc: value, extensions: [...own, BASICS, onUpdate] }),
    });
  });
  const changed = useEffectEvent((text: string) => onChange(text));
  const viewed = useEffectEvent((created: EditorView) => onView?.(created));
  const moved = useEffectEvent((offset: number) => onCursor?.(offset));

  useEffect(() => {
    const created = create(host.current!);
    setView(created);
    viewed(created);
    return () => created.destroy();
  }, []);
  useEffect(() => {
    view?.dispatch({ effects: changeable.extensions.reconfigure(extensions) });
  }, [view, changeable, extensions]);
  useEffect(() => {
    view?.dispatch({ effects: changeable.attributes.reconfigure(attributes) });
  }, [view, changeable, attributes]);
  // Applies a value that was set from outside, such as an example. What the user types is already in the editor. (A
  // layout effect runs before the user can type anything else, which this would undo.)
  useLayoutEffect(() => {
    if (!view || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [view, value]);

  return (
    <Input.Wrapper
      label={<span id={`${id}-label`}>{label}</span>}
      labelElement="div"
      description={description && <span id={`${id}-description`}>{description}</span>}
      error={error && <span id={`${id}-error`}>{error}</span>}
      inputWrapperOrder={['label', 'description', 'input', 'error']}
    >
      <div
        ref={host}
        className="code-editor"
        data-invalid={error !== undefined || undefined}
        style={{
          '--code-editor-min-height': `${minLines * LINE_EMS}em`,
          '--code-editor-max-height': `${maxLines * LINE_EMS}em`,
        }}
      />
    </Input.Wrapper>
  );
}

const LINE_EMS = 1.4;

declare module 'react' {
  interface CSSProperties {
    '--code-editor-min-height'?: string;
    '--code-editor-max-height'?: string;
  }
}
