import type { Options, SearchOptions } from 'minisearch';

/**
 * How the site's search reads words and ranks pages. VitePress writes these functions into the site as text, so they can't
 * use anything from outside themselves.
 */
export const SEARCH: { options: Partial<Options>; searchOptions: SearchOptions } = {
  options: {
    /** Drops filler words, and the endings of other words (retries, paying), so that a question finds its page. */
    processTerm(term: string) {
      const word = term.toLowerCase().replace(/['’]s?$/, '');
      const isFiller =
        /^(a|an|and|are|as|at|be|by|can|do|does|for|from|get|has|have|how|i|if|in|is|it|its|me|my|of|on|or|should|so|something|that|the|their|them|there|they|this|to|tollgate|use|using|was|we|what|when|where|which|who|why|will|with|you|your)$/;
      if (isFiller.test(word)) return null;
      if (word.length < 4) return word;
      // Other APIs call it pagination, and the docs call it paging.
      if (/^paginat/.test(word)) return 'pag';
      const singular = word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1');
      return singular.replace(/(...)ing$/, '$1');
    },
  },
  searchOptions: {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 4, titles: 2, text: 1 },
    /**
     * Ranks the start of a page above its sections, and questions with answers above other text. Ranks pages where
     * people look up names (commands, errors, metrics, terms) lower, and the menu and pages about how Tollgate is built
     * lower still.
     */
    boostDocument(id: string, _term: string, { titles }: { titles?: string[] } = {}) {
      const start = titles?.length === 0 ? 1.4 : 1;
      if (/^\/decisions/.test(id)) return 0.15 * start;
      if (/^\/(#|$|architecture|folders|guarantees|project)/.test(id)) return 0.3 * start;
      if (/^\/faq/.test(id)) return 1.1 * start;
      if (/^\/errors/.test(id)) return 0.65 * start;
      return /^\/(cli|glossary|mistakes|observability)/.test(id) ? 0.7 * start : start;
    },
  },
};
