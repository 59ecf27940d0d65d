import { Component, type ReactNode } from 'react';
import { ProblemNotice } from '../parts/problem-notice.tsx';

/**
 * Keeps the navigation usable when a page crashes or can't be loaded, which can happen after a new version is deployed.
 */
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
      message: 'This page couldn’t be displayed.',
      requestId: undefined,
      fields: [],
      retryable: true,
    };
    return <ProblemNotice problem={problem} onRetry={() => window.location.reload()} />;
  }
}
