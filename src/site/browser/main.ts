/** The script of every page. Without it the pages are complete except for search, tabs and the choice of a theme. */
import { enableCopying } from './copy.ts';
import { followContents } from './contents.ts';
import { enableMenu } from './menu.ts';
import { redirectOldUrl } from './old-url.ts';
import { letScrollersBeFocused } from './scrollers.ts';
import { enableSearch } from './search.ts';
import { enableTabs } from './tabs.ts';
import { enableThemes } from './themes.ts';

document.documentElement.classList.add('scripted');
redirectOldUrl();
enableThemes();
enableMenu();
enableTabs();
enableCopying();
enableSearch();
letScrollersBeFocused();
followContents();
