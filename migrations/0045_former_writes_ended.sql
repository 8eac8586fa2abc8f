-- Waits for the deletions whose triggers ran before the rows of 0042 and 0044 were committed, and so did not see them. The triggers of later ones do. A
-- transaction of its own, so that the lock is held for a moment only.
LOCK TABLE jobs IN SHARE MODE;
