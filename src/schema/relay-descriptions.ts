/** Descriptions for the types and arguments that the Relay plugin generates. */
export const RELAY_DESCRIPTIONS = {
  nodeTypeOptions: { description: 'An object with an ID.' },
  idFieldOptions: {
    description: 'Unique ID: a prefix that names the type, followed by a part that sorts by creation time.',
  },
  pageInfoTypeOptions: { description: 'The position of a page in its list.' },
  hasNextPageFieldOptions: { description: 'Whether there are more items after this page.' },
  hasPreviousPageFieldOptions: { description: 'Whether there are more items before this page.' },
  startCursorFieldOptions: { description: 'The cursor of the first item. Null if the page is empty.' },
  endCursorFieldOptions: { description: 'The cursor of the last item. Null if the page is empty.' },
  pageInfoFieldOptions: { description: 'The position of this page in the list.' },
  cursorFieldOptions: { description: 'Pass this cursor as `after` or `before` to continue from here.' },
  firstArgOptions: { description: 'Return the first n items, 1 to 100. Default: 20.' },
  lastArgOptions: { description: 'Return the last n items, 1 to 100. Can’t be combined with `first`.' },
  afterArgOptions: { description: 'Return items after this cursor.' },
  beforeArgOptions: { description: 'Return items before this cursor.' },
} as const;
