// Runs before the first paint, so that a chosen theme does not flash. A separate file, because the page allows no inline
// script.
try {
  const theme = localStorage.getItem('reelmend.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the theme follows the system.
}
