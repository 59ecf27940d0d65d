/** Prints the demo's output, line by line. */
export type Story = ReturnType<typeof createStory>;

export function createStory(tell: (text: string) => void) {
  return {
    heading: (title: string) => tell(`\n── ${title}`),
    line: (words: string) => tell(`   ${words}`),
  };
}
