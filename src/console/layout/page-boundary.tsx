import { Component, type ReactNode } from 'react';
import { ProblemNotice } from '../parts/problem-notice.tsx';

/** Keeps the navigation when a page breaks, or could not be loaded since a new version has replaced it. */
export class PageBoundary extends Component<{ children: ReactNode }, { failure?: Error }> {
  override state: { failure?: Error } = {};

  static getDerivedStateFromError(failure: Error) {
    return { failure };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (!failure) return this.props.children;
    const problem = {
      code: 'PAGE_FAILED',
      message: 'This page could not be shown.',
      requestId: undefined,
      fields: [],
      retryable: true,
    };
    return <ProblemNotice problem={problem} onRetry={() => window.location.reload()} />;
  }
}
