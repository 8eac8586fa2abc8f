/** Starts the console. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { ApiError } from './api/client.ts';
import { followSession } from './api/session.ts';
import { App } from './app/app.tsx';
import { keepFocus } from './app/kept-focus.ts';
import { askBeforeHistory, askBeforeLink } from './app/leave-guard.tsx';
import { rememberPlaces } from './app/scroll-place.ts';
import { followTranslations } from './app/translated-page.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/button.css';
import './styles/components.css';
import './styles/pages.css';
import './styles/viewer.css';
import './styles/forced-colors.css';
import './styles/print.css';

/** A retry does not change a 4xx response, and `call` has waited as long as the service asked, unless that is too long. */
const isFinal = ({ status, retryAfterS }: ApiError) => (status >= 400 && status < 500) || retryAfterS !== undefined;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // While a page waits until its user has signed in again, it needs what it has loaded.
      gcTime: 3_600_000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && isFinal(error)),
      retryDelay: (attempt) => 400 * 2 ** attempt,
    },
  },
});

followSession(client);
rememberPlaces();
keepFocus();
followTranslations();
askBeforeHistory();

const root = document.getElementById('root');
if (root === null) throw new Error('the page lacks its root element');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Router base="/console" aroundNav={askBeforeLink}>
        <App />
      </Router>
    </QueryClientProvider>
  </StrictMode>,
);
