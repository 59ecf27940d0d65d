/** The name of the draft of a new key. The page opens the dialog again if there is one. */
export const KEY_DRAFT = 'api-key';
