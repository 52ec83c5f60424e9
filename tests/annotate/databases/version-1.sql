PRAGMA application_id=1448232513;
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE layers (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, start TEXT NOT NULL, created TEXT NOT NULL
) STRICT;
INSERT INTO "layers" VALUES('alice','annotator','release','2026-01-05T10:21:53.763Z');
INSERT INTO "layers" VALUES('bob','annotator','blank','2026-01-05T10:21:53.767Z');
CREATE TABLE log (
    number INTEGER PRIMARY KEY,
    recipe TEXT NOT NULL REFERENCES recipes(id), layer TEXT NOT NULL REFERENCES layers(name),
    revision INTEGER NOT NULL, base INTEGER NOT NULL, who TEXT NOT NULL, uuid TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL, target INTEGER, operation TEXT NOT NULL, inverse TEXT NOT NULL, time TEXT NOT NULL,
    UNIQUE (recipe, layer, revision)
) STRICT;
INSERT INTO "log" VALUES(1,'tea_3','alice',1,0,'alice','a1','do',NULL,'{"op":"retag","entity":"0-0-0","tag":"T"}','{"entities":[0,[[0,0,0,1,"T",null]],[[0,0,0,1,"F","release"]]]}','2026-01-05T10:21:53.774Z');
INSERT INTO "log" VALUES(2,'tea_3','alice',2,1,'alice','a2','do',NULL,'{"op":"relabel","start":"0-0-0","end":"1-0-2","label":"F-eq","to":"other-mod"}','{"flows":[0,[["0-0-0","1-0-2","other-mod",null]],[["0-0-0","1-0-2","F-eq","release"]]]}','2026-01-05T10:21:53.779Z');
INSERT INTO "log" VALUES(3,'tea_3','alice',3,2,'alice','a3','do',NULL,'{"op":"frame","key":"1-0-4/1-0-2","side":"before","value":"none"}','{"shots":[0,[["1-0-4","1-0-2","none","none",null]],[["1-0-4","1-0-2",1,"none","release"]]]}','2026-01-05T10:21:53.784Z');
INSERT INTO "log" VALUES(4,'tea_3','alice',4,3,'alice','a4','undo',3,'{"op":"undo","of":3}','{"shots":[0,[["1-0-4","1-0-2",1,"none","release"]],[["1-0-4","1-0-2","none","none",null]]]}','2026-01-05T10:21:53.787Z');
INSERT INTO "log" VALUES(5,'ゆで卵','bob',1,0,'bob','b1','do',NULL,'{"op":"tag","section":0,"line":0,"start":0,"end":1,"tag":"F"}','{"entities":[0,[[0,0,0,1,"F",null]],[]]}','2026-01-05T10:21:53.792Z');
CREATE TABLE recipes (
    id TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, content TEXT NOT NULL, added TEXT NOT NULL
) STRICT;
INSERT INTO "recipes" VALUES('tea_3',0,'{"title":"\u9ea6\u8336","url":"https://www.kurashiru.com/recipes/tea_3","texts":[["\u9ea6\u8336\uff11\u888b"],["\uff11\uff0e\u9ea6\u8336\u3092\u51b7\u3084\u3057\u3001\u6ce8\u304e\u307e\u3059\u3002"]],"annotation":{"ingredients":[[{"word_id":"0-0-0","start_char":0,"end_char":2,"ne":"F-B"},{"word_id":"0-0-1","start_char":2,"end_char":3,"ne":"Q-B"},{"word_id":"0-0-2","start_char":3,"end_char":4,"ne":"Q-I"}]],"instructions":[[{"word_id":"1-0-0","start_char":0,"end_char":1,"ne":"O"},{"word_id":"1-0-1","start_char":1,"end_char":2,"ne":"O"},{"word_id":"1-0-2","start_char":2,"end_char":4,"ne":"F-B"},{"word_id":"1-0-3","start_char":4,"end_char":5,"ne":"O"},{"word_id":"1-0-4","start_char":5,"end_char":8,"ne":"Ac-B"},{"word_id":"1-0-5","start_char":8,"end_char":9,"ne":"O"},{"word_id":"1-0-6","start_char":9,"end_char":11,"ne":"Ac-B"},{"word_id":"1-0-7","start_char":11,"end_char":13,"ne":"O"},{"word_id":"1-0-8","start_char":13,"end_char":14,"ne":"O"}]],"recipe_flows":[{"start_vertex":"0-0-0","end_vertex":"1-0-2","label":"F-eq"},{"start_vertex":"1-0-2","end_vertex":"1-0-4","label":"Targ"},{"start_vertex":"1-0-2","end_vertex":"1-0-6","label":"Targ"}],"state_changes":[{"word_id":[1,0,4],"before":1,"after":-1},{"word_id":[1,0,6],"before":2,"after":3}]}}','2026-01-05T10:21:53.759Z');
INSERT INTO "recipes" VALUES('ゆで卵',1,'{"title":"\u3086\u3067\u5375","url":"https://www.kurashiru.com/recipes/\u3086\u3067\u5375","texts":[["\u5375\uff12\u500b","\u6c34\u9069\u91cf"],["\u6e96\u5099\uff0e\u6c34\u3092\u6cb8\u304b\u3057\u307e\u3059\u3002","\uff11\uff0e\u5375\u3092\uff11\uff10\u5206\u8339\u3067\u307e\u3059\u3002","\uff12\uff0e\u6bbb\u3092\u3080\u304d\u307e\u3059\u3002"]],"annotation":{"ingredients":[[{"word_id":"0-0-0","start_char":0,"end_char":1,"ne":"F-B"},{"word_id":"0-0-1","start_char":1,"end_char":2,"ne":"Q-B"},{"word_id":"0-0-2","start_char":2,"end_char":3,"ne":"Q-I"}],[{"word_id":"0-1-0","start_char":0,"end_char":1,"ne":"F-B"},{"word_id":"0-1-1","start_char":1,"end_char":3,"ne":"Q-B"}]],"instructions":[[{"word_id":"1-0-0","start_char":0,"end_char":2,"ne":"O"},{"word_id":"1-0-1","start_char":2,"end_char":3,"ne":"O"},{"word_id":"1-0-2","start_char":3,"end_char":4,"ne":"F-B"},{"word_id":"1-0-3","start_char":4,"end_char":5,"ne":"O"},{"word_id":"1-0-4","start_char":5,"end_char":8,"ne":"Ac-B"},{"word_id":"1-0-5","start_char":8,"end_char":10,"ne":"O"},{"word_id":"1-0-6","start_char":10,"end_char":11,"ne":"O"}],[{"word_id":"1-1-0","start_char":0,"end_char":1,"ne":"O"},{"word_id":"1-1-1","start_char":1,"end_char":2,"ne":"O"},{"word_id":"1-1-2","start_char":2,"end_char":3,"ne":"F-B"},{"word_id":"1-1-3","start_char":3,"end_char":4,"ne":"O"},{"word_id":"1-1-4","start_char":4,"end_char":6,"ne":"D-B"},{"word_id":"1-1-5","start_char":6,"end_char":7,"ne":"D-I"},{"word_id":"1-1-6","start_char":7,"end_char":9,"ne":"Ac-B"},{"word_id":"1-1-7","start_char":9,"end_char":11,"ne":"O"},{"word_id":"1-1-8","start_char":11,"end_char":12,"ne":"O"}],[{"word_id":"1-2-0","start_char":0,"end_char":1,"ne":"O"},{"word_id":"1-2-1","start_char":1,"end_char":2,"ne":"O"},{"word_id":"1-2-2","start_char":2,"end_char":3,"ne":"F-B"},{"word_id":"1-2-3","start_char":3,"end_char":4,"ne":"O"},{"word_id":"1-2-4","start_char":4,"end_char":6,"ne":"Ac-B"},{"word_id":"1-2-5","start_char":6,"end_char":8,"ne":"O"},{"word_id":"1-2-6","start_char":8,"end_char":9,"ne":"O"}]],"recipe_flows":[{"start_vertex":"0-1-0","end_vertex":"1-0-2","label":"F-eq"},{"start_vertex":"1-0-2","end_vertex":"1-0-4","label":"Targ"},{"start_vertex":"0-0-0","end_vertex":"1-1-2","label":"F-eq"},{"start_vertex":"1-1-2","end_vertex":"1-1-6","label":"Targ"},{"start_vertex":"1-0-4","end_vertex":"1-1-6","label":"Dest"},{"start_vertex":"1-1-4","end_vertex":"1-1-6","label":"other-mod"},{"start_vertex":"1-1-2","end_vertex":"1-2-2","label":"F-part-of"},{"start_vertex":"1-2-2","end_vertex":"1-2-4","label":"Targ"}],"state_changes":[{"word_id":[1,0,4],"before":-1,"after":-1},{"word_id":[1,1,6],"before":2,"after":4},{"word_id":[1,2,4],"before":4,"after":9}]}}','2026-01-05T10:21:53.759Z');
CREATE TABLE snapshots (
    recipe TEXT NOT NULL, layer TEXT NOT NULL, revision INTEGER NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (recipe, layer, revision)
) STRICT;
INSERT INTO "snapshots" VALUES('tea_3','alice',3,'{"entities":[[0,0,0,1,"T",null],[0,0,1,3,"Q","release"],[1,0,2,3,"F","release"],[1,0,4,5,"Ac","release"],[1,0,6,7,"Ac","release"]],"flows":[["0-0-0","1-0-2","other-mod",null],["1-0-2","1-0-4","Targ","release"],["1-0-2","1-0-6","Targ","release"]],"shots":[["1-0-4","1-0-2","none","none",null],["1-0-6","1-0-2",2,3,"release"]],"lists":[],"done":[],"rejected":[]}');
CREATE TABLE suggestions (
    origin TEXT NOT NULL, recipe TEXT NOT NULL REFERENCES recipes(id), state TEXT NOT NULL, added TEXT NOT NULL,
    PRIMARY KEY (origin, recipe)
) STRICT;
CREATE TRIGGER log_stays BEFORE DELETE ON log BEGIN SELECT raise(ABORT, 'the log only grows'); END;
CREATE TRIGGER log_is_fixed BEFORE UPDATE ON log BEGIN SELECT raise(ABORT, 'the log only grows'); END;
COMMIT;
