Gleichzeitig nahm die Legion an der Befriedung Algeriens teil , die von verschiedenen Stammesaufständen und Rasias heimgesucht wurde .
Er beginnt auch eine Affäre mit Veronica Harrington , die ihn rettet .
Die urbane Morphologie dieser beiden lokalen Wasserscheiden tendiert dazu , sie unaufhaltsam zusammenzubringen .
Wichtige Funde waren eine Bronzeaxt in Wellwood und eine goldene Torke vom Kirchhof der Pfarrei .
Früher hatten Engländer vor allem dunkle Stout und Portier Bier getrunken , aber blasse Ale kam zu dominieren .
Obwohl er sie liebt , weigert er sich , sie zu heiraten , was Erica wütend macht .
Bald darauf jettete Reese um das Ende , " gleiten hier , wirbeln dort " , für einen 45 Yard Touchdown .
Poloniums Isotope neigen dazu , mit Alpha- oder Beta-Zerfall zu zerfallen .
231 und dringt hinter ihm in die Panzer IV ein .
Palmer saß an 26 von 46 für 298 Yards , ein touchdown , ein Abfangen und auch ein rauschendes touchdown gegen die Jacksonville Jaguars eine Woche später .
Die PVV bestritt die Parlamentswahlen 2017 mit Wilders an der Spitze .
James Purdy , 94 , amerikanischer Schriftsteller , Dichter und Dramatiker .
am 23. Oktober NWATNA PPV besiegte Hall Jeff Jarrett .
Die Premiere fand im Mai 2017 im HERE Arts Center in New York statt .
Raitt bat , " Largo al factotum " , Figaros Arie vom Barbier von Sevilla , zu singen , um sich aufzuwärmen .
Die ersten Einwände gegen Marx kamen von den Mutualisten , die sich dem Kommunismus und dem Statismus entgegenstellten .
Musiker wie David Bowie , Moby , Dizzee Rascal und Dave Grohl lobten " Royals " .
Wilson reiste später 1898 nach London , wo er 1899 sowohl das Donnybrook Blocks Mining Syndicate als auch die New Ravenswood Company schwebte .
Im NBA-Entwurf 2008 wählten die Bobcats D. J. Augustin aus Texas den neunten Gesamtrang aus .
Diese umfassten je zwei Staffeln Tauchbomber und Torpedobomber .
So kehrte Cambrai , aber nur kurz , in das westfränkische Reich zurück .
In dieser Variante kann Black entweder auf der Queenseite mit einem Plan wie b5 / Nb6 / Bd7 , oder auf der Königsseite mit einem Plan wie Ne8 / g6 / Ng7 / f5 spielen .
Hurrikan Bob stammte aus den Überresten einer frontalen Mulde südöstlich von Bermuda am 12. August .
Die AA-Mitgliedschaft sank 1894 von über 24.000 im Jahr 1891 auf 10.000 .
Die Republikaner nominierten Grant für die Wiederwahl , wobei Senator Henry Wilson von Massachusetts Colfax als Vize-Präsidentschaftskandidat ablöste .
Die White Salmon and Avalanche Glaciers füttern die vielen Flüsse des Salt Creek und Cascade Creek , die in den White Salmon River fließen .
Die Eiben werden auch in vertikale Akzente geschnitten , die die Form der italienischen Zypresse nachahmen .
Das Wasserqualitätsgesetz von 1987 erweiterte die NPDES-Genehmigungsabdeckung auf industrielle Sturmwasserentlader und kommunale separate Sturmkanalsysteme .
Eine Partei von Amerikanern griff das britische Brustwerk an und verursachte 2 Tote , nach denen sie zurückfielen .
Männchen in der Marine trugen einst einen blau-schwarzen Beret , ersetzten ihn aber durch die Seemütze der US Navy .
Die drei unteren Stimmen reagieren aufeinander und auf die melodische Linie , wobei Sopran- und Altstimmen am Ende parallel zu Sechsteln seufzen .
Die Nichtgläubigen erzielten in Fragen nach zentralen Grundsätzen protestantischer und katholischer Glaubensrichtungen bessere Ergebnisse .
Die Platina kaufte den disassemblierten Raddampfer Gouverneur Arthur von Großbritannien nach Hobart auf seiner 1832 Reise .
World Encyclopedia of Police Forces and Straal Systems .
Gegen 1875 bis 1876 waren die Bodices lang , aber noch enger geschnürte Taillen , die sich an einem scharfen Punkt vor ihnen näherten .
In anderen Arrhythmien kann das Herz ungewöhnlich schnell schlagen , genannt Tachykardie oder Tachyarrhythmie .
Lantana Tallinn zog 1996 vom Kadriorg Stadium in Tallinn zum Viimsi Staadion in Viimsi .
In " Once Upon a Time in Texas " stößt Sylar vor dem Burnt Toast Diner in einen zukünftigen Hiro und sidestriert ihn vor seinem Eintritt .
Sie entwarfen den Rookie James Anderson aus Oklahoma State auf # 20 .
Die Angehörigen der Kämpfer innerhalb der Lal Masjid waren auch außerhalb des Kordons .
Motten gehören die anomale , Besen Motte , Punkt Motte , Garten Dart , Maus Motte und weißes Ermin .
Nach einem langen Artilleriefall stellten die Franzosen die Düsen von über 600 Kanonen zusammen , um sie für Spanier und Briten unbrauchbar zu machen .
Am 17. Juni wurden Nixons Klempner beim Einbruch der DNC-Büros im Watergate erwischt .
1984 tauchte er dauerhaft im DC-Universum auf .
501 und 605 Squadrons mit 17 Hurricanes nach Kenley auf nur 5000 ft .
In Jeremy Garelicks Komödie The Wedding Ringer porträtiert Garcia die Figur Lurch , die als einer von Josh Gads Groomsmen auftritt .
im Tempel des Hera I , Paestum , und Tempel C , F und G bei Selinus , klassifiziert sie als pseudodipteroi .
Von Bengalis aller Glaubensrichtungen gefeiert , umfassen sie das bengalische Neujahr , das Frühlingsfest und das Herbsterntefestival .
Aber Bayes ' Satz hing immer von früheren Wahrscheinlichkeiten ab , um neue Wahrscheinlichkeiten zu generieren .
Nach der Ruhepause mischte der Dinosaurier vorwärts und hinterließ neue Eindrücke mit Füßen , Metatarsalen und Ischium , aber nicht mit den Händen .
Die Synoptik zeigt zwei unterschiedliche geografische Zusammenhänge in Jesu Dienst .
In der Folge " Verstärkungen " Electro schließt sich den reformierten Sinister Six unter dem Master Planner , ein Alias für Doktor Octopus .
Kontroverse über die Charakterisierung nominaler Adjektive
Gödel ' s Princeton Vorträge von 1934 ) und anschließende Vereinfachungen durch Kleene .
Zwischen 1820 und 1900 emigrierten 340.000 Niederländer aus den Niederlanden in die Vereinigten Staaten von Amerika .
Er sagte auch , dass " die Misshandlung von Gefangenen uns diskreditieren würde .
Tara ritt am weitesten von allen Teilnehmern ; fast 59 mi .
Alle diese Raptoren schwebten über dem Kopf auf der Suche nach Beute bei Tageslicht , und um sie zu vermeiden , entwickelte sich das Kakapo getarnt Gefieder und wurde nächtlich .
Nichtsdestotrotz berichteten die Vermillions nie von Sylvias offensichtlicher Misshandlung an die Behörden .
Mit Francesca Schiavone erreichten sie das Viertelfinale .
Etwa am 26. April dampfte Hanson für einen zweieinhalb Tage dauernden Zwischenstopp in Pusan , Korea , und dampfte dann zurück nach Sasebo , Japan .
Ate , ein Verlobter aus der Hölle , verkleidet als schönes Mädchen .
Ohne es zu wissen , kommt Meister Pandemonium aus den Trümmern hervor , die einen Streik planen .
Macduff tötet und enthauptet ihn und erfüllt damit die verbleibende Prophezeiung .
Brackens hatte auch einen blockierten Kick , fünf erzwungene Fumbles und fünf fumble Erholungen .
Paraśurāma beherrscht alle vedischen Mantras , wenn er sie nur einmal von seinem Guru hört .
Saprinus Erwachsene ernähren sich sowohl von den Larven als auch von den Puppen der Blasen , obwohl einige frische Puppen bevorzugen .
Trotz der früheren Beispiele der verzögerten dehiscence , die meisten Früchte dieser Gattung zeigen normale explosive dehiscence Samen dispergieren .
Die Cricketers verhindern , dass Thomas in sie stürzt !
Er wurde ein Einsätziger , der die Göttlichkeit Jesu ablehnte .
" Er liebte schwangere , charismatische Schinken wie Lionel Barrymore und Marie Dressler " , schreibt Eyman .
Ein Wal kann in zwei oder mehr Walzen mit Erhöhungen aufgeteilt , am häufigsten mit einem Garn über .
Schwarz , obwohl zwei Bauern unten , zieht leicht mit 1 ... Ra1 + 2.Rf1 Rxf1 + 3 .
Im Jahre 1834 fiel der letzte der Haleri Rajas Chikka Vira Raja aus Gunst mit den Briten , die dann interveniert durch die Invasion Kodagu .
Noggin und Chordin Homolog Chordino , bindet an ein BMP Familienmitglied , BMP2B , um es von ventralisierung des Embryos zu blockieren .
Wie ihre Darstellung in den Comics entwickelt sie eine starke und tiefe romantische Zuneigung zu Scott / Cyclops .
Gletscher flossen in den Henty River und King River .
Druiden fungieren als Berater , Abgesandte der Werwolf-Packs .
Am 27. September 1942 legte das Schiff in Guantanamo Bay , Kuba an .
Nach dem Drehen und Ausstrecken der Arme schwenkt der Ruder den Körper nach vorne .
Er trat in die englische Bürgerkriege auf der Seite der " Roundheads " oder Parlamentarier , Spitznamen " Old Ironside " .
Raonic schlug Querrey im Viertelfinale und Federer im Halbfinale und markierte damit Federers erste Niederlage in 11 Wimbledon-Halbfinalen .
Sie legen Stöcke auf ihre Schnauze und tauchen teilweise unter .
Jadwiga beschuldigt sie des Verrats und der Verschwörung gegen das Königreich .
All diese Abzüge klopften die $ 10.000 Gewinne auf $ 3.000 .
Die Kunsthistoriker Ingo Walther und Rainer Metzger bezeichnen Chagall als " Dichter , Träumer und exotische Erscheinung " .
Die anderen Prebends hielten auch Land , aber nicht als Herren des Schlosses .
Nur der weibliche Chef erhält einen Anteil an der Kerzenstange .
Jedoch überlebt Captain America die Explosion und schafft es , Gambit auszulöschen .
Übergänge zwischen einer bestimmten Teosinte Sorte und Maisertrag fruchtbare Nachkommen , die im Phänotyp zwischen Mais und Teosinte sind .
Die Bustard , gestreifte Hyäne , Karakal , Wüstenfuchs , Falke und arabische Oryx sind in Dubais Wüste verbreitet .
Die dreiköpfige Gruppe reiste in das Vorgebirge des Owyhee River , einem wichtigen südlichen Nebenfluss der Schlange , aber verschwand .
Muscheln im LKW explodierten und ein großer Brand brach aus .
Auf dem Höhepunkt schickt er alle überlebenden Orte in ihre Universen , während die Bombe explodiert .
William H. Prescott beschrieb die Inquisition als " Auge , das nie schlummerte " .
Percivale durchquert eine surreale allegorische Landschaft , bis er Galahad in einer Einsiedelei begegnet .
In einem weiteren Rückschlag verfolgte William Welsh , ein prominenter Kaufmann , das Büro in einer Untersuchung des Kongresses wegen Missbrauchs .
Die Flut löste Tausende Bauern auf , von denen viele sich rovierenden Banditen und Rebellengruppen wie den Roten Augenbrauen anschlossen , um zu überleben .
West Virginia ' s nächste Fahrt endete in einem Punt , die Wharel falsch beurteilt , pinning Oregon State an ihren eigenen 30 .
Grima , J.F. , veröffentlicht Peter Caxaro und seine Cantilena , Der Demokrat , 3. August , Seite 9 .
als Superintendent , mit einem anfänglichen Gehalt von $ 138.000 .
Liste der Haie Darstellung der bedrohten Haie Westaustralische Haie Keulung
Die Commonwealth reichte einen Antrag auf Wiedereinführung ein , den das Oberste Gericht am 10. Februar 2016 ablehnte .
Am 28. November 1942 entließ Lt. J.R. Pilling , Jr . USNR Lt. D McVickar USNR als Kommandant " .
Real brennt immer weiter darüber , warum er sie liebt .
PhilipII annullierte dann die Hochzeit ganz und verbannte Alexanders Berater Ptolemaios , Nearchus und Harpalus .
Einst , in Solensara , griffen die Türken ungefähr sechzig Boote der Fischer der Korallen an .
Der Tornado beschädigte einige Schuppen , zerstörte mehrere Getreidebehälter und blies einige Bewässerungsschwenken um .
Die Fair Bourne erhebt sich in einem Steinbruch über Fairbourne Court .
Die Einwohner von Paris verdächtigten Vergifter , während sich Aasfresser und Bettler gegen die autoritären Maßnahmen der öffentlichen Gesundheit auflehnten .
Legenden der Tempelritter und des Priorats von Zion .
In den baumlosen Prärien bauten Homesteaders Sodhäuser .
Iran-Außenminister Kamal Kharrazi warnte vor einem US-Militärschlag gegen Afghanistan .
Am 4. Juli 1943 schiffte Carpenter Helena kurz vor Mitternacht in den Kula Golf .
William Johnsons Expedition ging es kaum besser als Shirleys .
Wölfe jagen Steppenkatzen und können von Schneeleoparden töten .
Als Grace später ein Porträt Sienna entdeckt , das Trevor gezeichnet hat , entfacht es ihren Hass gegen Sienna .
Odyssean Götter Parallelen zwischen Virgil ' s Aeneid und Homer ' s Iliad und Odyssey
Die Mahanoy Area High School verpasste 2012 jede akademische Metrik .
Der Bürger emanzipiert sich so von den Identitätspartikeln , die sich selbst charakterisieren , um eine " universalere " Dimension zu erreichen .
Darüber hinaus verehrt Tulsidas das gesamte hinduistische Pantheon .
Der Käfer steht der frühen Morgenbrise gegenüber und hält seinen Bauch hoch ; Tröpfchen kondensieren auf dem Elytra und laufen entlang der Grate in Richtung ihrer Mundteile .
Harrison trainierte die A3 Reserven zu Grand Finals in 1964 und 1965 , gewann die 1964 Premiership .
Wenn dieses Säugetier mit anderen Kojoten kommunizieren will , jammern , bellen oder heulen sie .
Der Hurrikan verwandelte auch die Demografie des Dade County .
In demselben System extrahiert auch ein zweiter Demodulator , der Z-Demodulator , eine additive Kombination aus U plus V , aber in einem anderen Verhältnis .
Sam kehrte den Ring nach Frodo zurück und sie entkamen dem Turm , der in seiner Ork-Rüstung und Lackierung verkleidet war .
Der Kardinal Camerlengo holt den Ring des Fischers und zerschneidet ihn in Anwesenheit der Kardinäle .
Victor kehrt schließlich nach Nikki zurück und gewinnt die Herrschaft über Jabot Cosmetics .
Dieser Epithet widerhallt der Geschichte im Ramayana über seine emotionale Hingabe an Rama und Sita .
Unter den Minnesingern verdient Hermann , ein Mönch aus Salzburg , besondere Beachtung .
643.Padmanaabhaay , Der Herr hält den Wellotus auf Seinem Nabel
Das erste Gefecht der Crawford Expedition begann um ca. 14 Uhr am 4. Juni 1782 .
Castellanos Ankündigung über Gambino und Bilotti wütete die Partisanen von Dellacroce weiter .
Südsklaven besuchten in der Regel die weißen Kirchen ihrer Meister , wo sie oft die weißen Kongreganten übertrafen .
Einer der Ritter feuert mit seiner Stahlbrust zurück und tötet den Armbrust .
Für schwerere Vergehen verhängt der Schiedsrichter eine Strafe .
Beim Abstieg verfehlte er eine Haarnadelecke und stürzte den Berg hinunter .
Rogers Sportsnet fungiert wie in den vergangenen Jahreszeiten als offizieller Fernsehsender der Blue Jays .
Henson und sein Mitarbeiter John Stringmate träumten sogar von der ersten Aerial Transit Company .
Die Fechter begrüssen auch den Schiedsrichter und das Publikum .
1 Commando und Beer White angegriffen durch 168 Regt . , US 34th Infantry Division .
Los Angeles County allein macht 374.285 Filipinos , die meisten von allen einzelnen Grafschaften in den Vereinigten Staaten .
Später reiste Walachei ' s Vornic Radu Socol nach Suceava und brachte Despot zwei Rassen , einen Kuka Hut mit Edelsteinen und 24.000 Dukaten .
Oberster Gerichtshof Owen J. Roberts diente auf der Vestry in den 1920er Jahren .
Die Überreste Felix ' s gingen weiter nordöstlich über den Atlantik bis sie am 25. August in der Nähe von Shetland verschwanden .
Aufgebracht über die Brutalität eines Fischers , lässt Buddy ihn in den Ozean fallen und beabsichtigt , ihn zu ertrinken .
Sie braute an Caroline Garcia vorbei , verlor sich dann im Halbfinale in Straight Sets an Petra Kvitová .
Bischof Otto von Bamberg bestätigte ab 1123 die Christianisierung Pommerns .
England antwortete mit 330 , und Australien erzielte 433 in der zweiten Innings .
Die Spülung , das Chipping-Modul und die thermomechanische Zellstoffmühle wurden im Januar 1992 eröffnet .
Der Austausch aller möglichen Zeilen- und Spaltenpaare dreht jeden Quadranten des Quadrats um 180 Grad .
Reilly angeblich ausgegeben " über eine Million Rubel " , um die Roten Armee Truppen Bewachung des Kreml bestechen .
Schließlich gesteht sie , dass Claudia sie erpresst hat , sich mit ihm zu trennen .
Der Librettist kam schließlich am 1. Januar 1833 in Venedig an .
Der Korporal Wayne Mills des 1. Bataillons wurde der erste Empfänger des Auffallenden Gallanterienkreuzes , der zweite nur bis zum Victoria Cross .
Michael Connell , 45 , amerikanischer politischer Stratege , Flugzeugabsturz .
Brainiac erschien später wieder als Schwarm vernetzter nanotechnologischer Einheiten .
Sie haben den Konvoi in Cabeza de Tigre abgefangen und wegen seiner religiösen Begabung hingerichtet , außer Bischof Orellana .
Die meisten der Gewerkschaftsarmee gerieten in Panik und flohen in einen ungeordneten Rückzug .
Der Geophysiker Cliff Frohlich erforschte von 2009 bis 2011 seismische Aktivitäten am Barnett Shale in Texas .
Zuerst täuschte der Aussätzige Unwissenheit vor , aber Tulsidas ließ sich nicht bereuen .
Im November 1937 traf die Gnat mit dem amerikanischen Flussschiffsschiff USS Panay zusammen .
Sie reichten von einzelnen Kugeln Patronenfallen , Granaten , dud Bomben und Muscheln .
Dies erlaubte Captain James Cook von Whitby , einen Großteil Australiens zu kolonisieren .
Sie flogen ständig über Kopf und explodierten manchmal in der Nähe .
Dieses Korps überwachte die fünf nördlichsten Provinzen Zentralvietnams und die 1. und 2. Divisionen .
Er entkommt , nachdem der Plan zusammenbricht , weil sie eine Tasse Französisch zu früh genehmigt .
Im Jahr 2018 übernahm die DFL die Kontrolle über das Minnesota House , während die Wahl DFLer Tim Walz als Gouverneur .
Am 23. August 1968 erlitt die Bills einen Blowout Vorsaison Verlust an den Houston Oilers .
Halloween und Slasher Filme , im Allgemeinen , stellen die Unterseite der Vorstadt .
Pi Beta Phi und Sigma KappaPhi Beta Sigma , Zeta Phi Beta .
Nach den Anschlägen vom 11. September 2001 kündigte das MTA an , den Zeitplan für den Bau des East Side Access zu beschleunigen .
AMC / Jeep Getriebe AMC 20 Amco , American Motors , Inc . , New York City , aktiv von 1917 bis 1922 .
Ein slowakisches Regiment marschierte dann nach Myjava , wo sich ein slowakischer Rat offen von Ungarn trennte .
Intern , Holz dado vertikalen Brettern mit Mastmasonit Futter oben in den wichtigsten Speisehallen .
Leutnant Board wurde von einer Kanonenkugel entstellt und getötet .
Alle bemannten Landungen fanden tagsüber statt .
Am 28. April 2014 brach trotz eines jüngsten Erdbebenrückgangs der Vulkan Ubinas eine Aschewolke aus .
Obwohl Cindy es versucht , findet Rhys unwiderstehlich und erliegt ihr .
Es ist mit Splitterwetterbrettern verkleidet , schmaler als die des Haupthauses .
Nichtsdestotrotz eskalierte der Kalte Krieg während seiner Präsidentschaft .
Fiama Hasse Pais Brandão , 69 , portugiesischer Dichter , Dramatiker , Essayist und Übersetzer , lange Krankheit .
Nightingale hinterfragte auch Seacoles Moral und die Abstammung ihrer Tochter .
Die Phylogenie der Nagetiere platziert sie in den Clades Glires , Euarchontoglires und Boreoeutheria .
Nutzbares Land kann durch Versalzung , Entwaldung , Wüstenbildung , Erosion und städtische Ausbreitung weniger nützlich werden .
Die Musikerin Laura Marling stammt ursprünglich aus Hampshire .
Übergreifen Sie diese göttliche Aeneid nicht ; nein , werfen Sie sich eher nieder , verehren Sie den Boden , den sie betritt .
Der Junge blurt unerwartet seine dunkelsten Geheimnisse und Träume aus .
Die Astronauten wurden von den Aluminiumrümpfen der Sonde vor der ionisierenden Strahlung abgeschirmt .
Die weiße " Association " Uniform und die teal " Icon " Uniform sind mit dem " Hornets " Wordmark vorne und dem silhouettierten Hornet am Bund versehen .
Zu den Fungiziden gehören Azoxystrobin , Kupfer , Chlorothalonil , Mancozeb und Maneb .
Pierron neigte zu den Gefangenen und bat die Folterer , aufzuhören , aber sie ignorierten ihn .
Ein Tornado spawned 10 mi östlich von Yeehaw Junction stürzte Bäume entlang State Road 60 .
Er rekrutierte Italiener , Franzosen , Skandinavier und Slawen in die Internationale Bruderschaft , auch Allianz der Revolutionären Sozialisten genannt .
5,3 Millionen Muslime zogen von Indien nach Westpunjab in Pakistan , 3,4 Millionen Hindus und Sikhs von Pakistan nach Ostpunjab in Indien .
Ihre modernen Kampfbegleiter der US-Marine waren der gelenkte Raketenzerstörer und Fregatte .
Die Louisiana Städte Bunkie und Hessmer erlitten moderate Schäden durch EF1 Tornados .
Nach einem kurzen Gefecht eroberte eine israelische Abteilung das Rockefeller Museum .
Miller kehrte in Englands zweiten Innings zur Bowlingfalte zurück .
Die subarachnoide Blutung verdoppelt etwa die Sterblichkeit .
Diese Ränge ähneln wahrscheinlich am ehesten den modernen Rängen von Korporal und Sergeant .
Kaninchen wie Angora , American Fuzzy Lop und Jersey Wooly produzieren Wolle .
Nach der Untersuchung des Absturzes begruben die Mongolen die Toten vor Ort .
Am 3. Februar kam RadioShack wegen seines Darlehens von Salus Capital in Zahlungsverzug .
Polnische Infanteristen , die die Forts besetzen , wurden angewiesen , sich hinter die Gabionen zu legen , was die Verluste minimierte .
Dazu gehören westlicher Hemlock , westlicher Rotkedar , Großtanne , Berghemlock und Lärchen .
Viele seiner ehemaligen Teamkollegen und andere berühmte Baseballspieler dienten als Palettenträger , und die Reverend
Der Begriff " Sepoy " oder " Sepoyism " wurde zu einem abfälligen Begriff für Nationalisten , insbesondere in Irland .
Die Rückständigkeit der lokalen Wirtschaft verlieh Gerely Berzeviczy der Leibeigenschaft der Bauern bereits um 1800 .
Eine Haftung gegenüber dem dritten Rettungspartner war nicht übertragbar .
Die feminale Nervenlähmung führt zu Hyperflexion der Erstickungen , Schwänze und Fötenschlösser , und das Pferd geht in der Regel auf der Zehe des Hinterfußes .
Abschwächung der Dosis während der Schwangerschaft kann seine Schwere zu verringern .
Gangrel verriet bald sowohl Edge als auch Christian und gründete The New Brood mit ihren Feinden , The Hardy Boyz .
Dort , vor allem in der Provinz Isabela , wehte es Wind bis zu 195 km / h und Böen bis zu 230 km / h .
Die Straßen von Gotham City nutzen die alte Brownstone Street und die Hennessy Street auf dem Freigelände der Warners .
Ich bin entsetzt über die Unverschämtheit dieser Clique und das Schweigen , wenn nicht gar Duldsamkeit des Ratsvorsitzes .
Légaré begleitete 235 Sioux nach Fort Buford und bat später sowohl die kanadische als auch die amerikanische Regierung um Rückerstattung .
Sie schwächte sich allmählich ab , bevor sie am 27. September in einen extratropen Zyklon überging .
Carmichael schließlich Seite mit denen , die für die Vertreibung von Weißen .
Weist , Thomas D. , " Thomas B. Marquis " , in Marquis , Thomas B. , The Cheyennes of Montana , pp .
Obwohl es nicht so groß wie die Rivalitäten mit den Riesen und Cowboys , die Rivalität mit Division Feinde Washington Redskins ist immer noch heftig .
Pink Trombone , ein interaktiver Artikulationssimulator von Neil Thapen .
Das habsburgische Regime hat mit der Schließung des größten Teils der Universität in den 1850er Jahren Vergeltung gefunden .
East African Brauereien ins Leben gerufen Tusker Premium Cider im Jahr 2017 .
Er engagiert sich auch in einer Affäre mit Superhelden Bette Noir .
Harris und Klebold haben die Spitznamen " Reb " bzw. " VoDkA " übernommen .
Er verwarf ein hartnäckiges Gerücht , dass Nicanor versuchen würde , Athen zu überfallen .
Vom Einsatz im Juni 2010 bis September 2012 lieferte Alliant Techsystems über 350 Millionen M855A1 Enhanced Performance Rounds .
Im Gegensatz dazu bevorzugten die meisten Stadtbewohner die Rebellen .
Jenna Marbles , amerikanische Entertainer und YouTube Persönlichkeit .
Jenny Bradley besucht hier kurz zusammen mit ihrem Freund und Hausangestellten Flick Khan .
Tecumseh versammelte seine Konföderation und verbündete seine Kräfte mit der britischen Armee , die das Nordwestgebiet von Oberkanada einmarschierte .
Lee gab am 9. April 1865 einen Überrest von 50.000 von der Army of Northern Virginia im Appomattox Court House , Virginia , ab .
Einige Tellurhaloide mit niedrigen Valenzen , wie Te2Cl2 und Te2Br2 , bilden im festen Zustand Polymere .
Kam zu Norwegen ungefähr 1657 whit Oberst Willem de Coucheron .
Als der Wrestler zögerte oder ablehnte , nickte Sting , holte die Fledermaus ab und verließ den Ring .
Im März 1915 , nach dem Ausbruch des Ersten Weltkrieges , trat Savige in die erste australische Kaisermacht ein .
Oft von Tyrannen ausgewählt , aber hartnäckig von seinem Bruder verteidigt .
Die Barone stießen die Zwergengarnisonen des Prinzen aus und erklärten Highport zu ihrer Hauptstadt .
Louis Wolfson , 95 , amerikanischer Geschäftsmann , gezüchtet und gezüchtet 1978 USA
Alpha Phi Alpha unterstützte rechtliche Kämpfe gegen die Segregation .
Dieser Aufstand der Indianer gegen Pelzhändler löschte die europäischen Kolonisten im Südosten fast aus .
Bei Northampton , Andy Caddick serviert einen ungewöhnlich wirtschaftlichen Zauber , wobei zwei für 12 in drei overs trotz zwei Weiten .
Gesetzgeber verschiedener Parteien haben dies vor dem Obersten Gerichtshof angefochten und Sharif wütend gemacht .
Bopha wurde um 3 : 00 UTC am 8. August unerwartet zu einem schweren Tropensturm gestärkt , bevor sie um 12 : 00 UTC wieder zu einem Tropensturm zurückkehrte .
Er befreundet Yamato , Terry , Grey , Gunnos und alle anderen später .
13 Viet Cong Bataillone jedoch schafften es , durch die Herrschaft zu schlüpfen und stürzten die Hauptstadt wieder ins Chaos .
Nichtsdestotrotz hat Blamey in Rücksicht auf Herrings Wünsche Retter sowieso erleichtert .
Angetrieben von Ray Lindwalls 6 / 20 , Australien skittled England für 52 in 42.1 overs am ersten Nachmittag .
Im gleichen Sinne schrieb Manuel de Aguirre über Toleranz in El Censor , El Correo de los Ciegos und El Diario de Madrid .
In den späten 1800er oder frühen 1900er Jahren stürzte eine Lokomotive in Buffalo Creek beim Überqueren ein .
Es besteht aus fünf Serien , The Clue Hunt , Cahills vs. Vesper , Unstoppable , Doublecross , und Superspecial .
Im Le Belvédère komponierte und gardierte Ravel , wenn er nicht in Paris oder im Ausland auftrat .
Knute Nelson in MNopedia , der Minnesota Enzyklopädie
Slipknot war die Headliner der Veranstaltung , mit In Flames , Mastodon , Mustasch und Dead im April spielen auch auf dem Festival .
Ein Quadratmillimeter Blattgewebe kann eine halbe Million Chloroplasten enthalten .
Sie dampfte über Hawaii , Midway , Guam und Subic Bay für Vietnam und ankerte am 13. September im Saigon River .
Chief Kanosh prognostizierte , dass im Jahr 1867 sechstausend Navajos die Mormon Städte im südlichen Utah auslöschen würden .
Thaksin verklagte Sondhi und mehrere Manager Daily Führungskräfte wegen Verleumdung .
Das Massaker von Jallianwala Bagh 1919 ereignete sich in Amritsar .
Abler , Thomas S. " Joseph Brant " in John A. Garraty und Mark C. Carnes , Hrsg . , American National Biography .
Rauch aus den Kleberfabriken entlang Jamaica Bay würde in der Regel Aufwind in Brownsville blasen .
White , Robert , Controversies in Environmental Sociology , Cambridge University Press , 2004 .
Er ähnelt in seiner Tendenz zum Pantheismus den wichtigsten deutschen Mystikern .
Er rekrutierte Lehrer Stephen B. Luce , zukünftige Admirale Winfield Scott Schley , George Dewey und William T. Sampson .
Schließlich zerfällt es in ein braunes , akritisches Pulver .
Ruby küsst Pete während einer ihrer Tutoring-Sitzungen .
1969 schenkte Dr. Samuel P. Hays dem Landkreis das 311 Hektar große Hayswood Nature Reserve .
In The Goldenseal Book of the West Virginia Mine Wars .
Andere beliebte britische Kekse sind Bourbons , Cremes , Jammie Dodgers , Ingwer Nüsse und Kurzbrot .
Doppelte Eingangstür mit Canted Surround und geschnitztem Tympanum .
Die Musikwissenschaftler nannten dieses Genre aufgrund des hohen Klagens , das mit arabischem Gesang synonym ist , abfällig arabisch .
Die fiktive Ryker Häuser sowohl konventionelle Verbrecher und kostete Straftäter fehlen Supermächte .
Die älteste Schwester und Anführerin der Roten Snappers .
Nachdem Crowley sich von einer Phlebitis erholt hatte , fuhr er im Oktober 1914 an Bord der RMS Lusitania in die USA .
Die schnellsten westlichen Schlachtschiffe oder Schlachtkreuzer könnten mehr als 30 kn betragen .
Confessions of a Young Exile , Gage Publishing Co. / Macmillan of Canada , 1976 .
Trotz Thorpes Behauptung , dass er nicht mit Spitz übereinstimmen könnte , sagte Frost voraus , dass Thorpe bei einer Olympiade neun Gold gewinnen könnte .
Dies blieb seine Vorliebe trotz des Waffenstillstands mit Korea .
Der London Evening Standard beschrieb seine Heldentaten im Mai 1931 in einer illustrierten Serie mit dem Titel " Master Spy " .
Hier befindet sich die zweigleisige A61 über den Don .
Julius Africanus , ein gefeierter Redner unter Nero .
Andere Mosaiken gibt es in den Querschiffen , im Pfarrhaus und im Chorloft am nördlichen Ende der Kirche .
Der Adler weist die Eule ebenso wie die Morgendämmerung auf eine falsche Behauptung zurück .
Unicity und heilbringende Universalität der katholischen Kirche
Lumbly porträtiert auch Martian Manhunter Vater , M ' yrnn J ' onzz , auf Supergirl .
Technisch gesehen ereignete sich CBS ' erste offizielle Major League Baseball Telecast am 12. Juli 1949 .
Rachmaninoff tourte zwischen Februar und Oktober 1918 .
Er gründete seinen Stützpunkt in Algeciras , mit einer Flotte von mehreren Xebecs und Kanonenbooten .
Nachdem Cortés zwei Häuptlinge gefangen genommen hatte , erfuhr er von einer weiteren aztekischen Handlung , um seine Starts mit vierzig Pirogen zu überfallen .
Dies bedeutete , dass der Vorteil seiner Amtsinhaber immens .
Diese weiße Feindseligkeit erreichte ihren Höhepunkt zwischen 1950 und 1952 .
Die Beinahe Fünf bestanden aus den Ōsumi-Inseln mit Ausnahme von Tanegashima , während die Remote Seven den Tokara-Inseln entsprachen .
Auch die Regentschaft Johannes V. stützte sich auf türkische Söldner .
Das heißt , im alten Indien würden Frauen Sari tragen , der ihre Midriffs entblößte .
Die Gesichter der Verstorbenen wirken stilisiert und verherrlicht .
Die Einführung neuer oder gleichwertiger Gottheiten fiel mit Roms bedeutsamsten aggressiven und defensiven Militärforays zusammen .
Dazwischen ist das Testament von Raymond de Forcade , Jurat in Pau , beim Notar Fortaner d ' Agos in Pau notariell beglaubigt .
Die meisten von ihnen lebten in kleineren Herrschaften mit moderater sozialer Schichtung .
BSAC profitierte auch von den großen , aber nicht unbeschränkten persönlichen Vermögen von Rhodos und Beit vor ihrem Tod .
Der italienische Pilot startete , um britische Flugplätze in Dabat und Adi Arcai zu beschießen .
Arsen schmilzt nur unter einem Druck von 38,6 atm bei 817 ° C .
Chandar und Sudha erreichen den Schuster , Sudha schimpft ihn und weist ihn an , den Schuh herzustellen .
Alexander Calders Stegosaurus Skulptur sitzt auf einem Platz zwischen ihr und dem Hartford Municipal Building .
Eine Fusion im Jahr 1864 verflochten die CC & C mit der Bellefontaine Eisenbahn .
Überlebende zogen sich an die alten Grenzen Bulgariens zurück .
... ISIS betrachtete die türkische Armee als ihren Verbündeten , besonders wenn es darum ging , die Kurden in Syrien anzugreifen " .
Die Biber eilten für 66 Meter zum Bergsteiger drei .
Die Demonstranten versammelten sich am McCadden Place in Hollywood , marschierten nach Norden und wandten sich nach Osten auf den Hollywood Boulevard .
Die Streitkräfte der EPR überfielen sie in der Nähe von Tangail , aber die Pakistaner brachen trotz schwerer Opfer durch und Tangail fiel am 9. April .
Der Otter kann sowohl von oben als auch von unten angreifen und im letzten Augenblick schwenken , um die Beute in den Kiefern einzuklemmen .
Die Überreste bewegten sich durch den Atlantik Kanadas und zerstreuten sich schließlich am 2. Oktober .
Sie vermuteten , dass Spermienwale Sehvermögen nutzen , um Tintenfische zu jagen , entweder durch das Erkennen von Silhouetten von unten oder durch das Erkennen von Biolumineszenz .
In der West Bengalen Legislative Assembly Wahl , 1996 RCPI Feldzug Bimalananda Mukherjee in Santipur und Mihir Bain in Hansan .
Am 9. März 1944 landeten sie am Salami Beach auf der Insel Los Negros .
Constable und Ward übertrugen die Urkunde im Dezember 1794 an Greenleaf .
Von da an trug sie den ' groben Homespun und braunen Scapular , weißes Wimple und Schleier , Ledergürtel mit Rosenkranz , Wollstrümpfe , Seilsandalen ' .
Im Gegenzug vermischt und passt jede mit den Nahrungsmitteln des Stammes der Seminole und anglophonen Siedlern .
1909 wechselte das Kanonenboot nach Shanghai , wo sie regelmäßig den unteren Yangtze River bis Nanking und Wuhu patrouillierte .
Als sie sich der Brandung näherten , rutschten Roelfzema und Tazelaar vom Boot und waten an den Strand .
Als Michael " Hopper " McGrath lobte einen Ball in , sprang Molloy am höchsten , bevor er ein erhabenes Ziel auf das Dach des Netzes .
James Braid , Chirurg und Pionier von Hypnotismus und Hypnotherapie , praktiziert in Dumfries von 1825 bis 1828 in Zusammenarbeit mit William Maxwell .
Im März 1975 kämpfte Frazier in Melbourne , Australien , gegen Jimmy Ellis und schlug ihn in neun Runden aus .
Jedoch widersprach Radio Times Alison Graham und markierte Lofty mehrfach als " Idiot " .
Beide Ausstrahlungen des Piloten gaben starke Bewertungen zurück .
Die Nachnamen der plebejischen Claudii waren Asellus , Canina , Centumalus , Cicero , Flamen , Glaber und Marcellus .
Dann immobilisiert er schnell die meisten Autobots , bevor er von Fixit und den Menschen ausgetrickst wird , Bumblebee wieder hinein zu lassen .
Während der Kalbszeit Ende Mai und Anfang Juni dominieren Winde aus einem südlichen Quadranten .
1909 wurde die örtliche Bruderschaft zu New Hampshire Alpha Chapter von Sigma Phi Epsilon .
Tankosić gab den Mördern eine FN Modell 1910 Pistole .
Der Taddeo Tondo von 1502 zeigt das von einem Bullfink erschrockene Christkind , ein Symbol der Kreuzigung .
Blake ' s 7 beeinflusste auch Hyperdrive und Aeon Flux .
Nachdruck 2000 als " Kodungallur Wiege des Christentums in Indien " .
Anfang August nahm Javier die Intensivierung wieder auf und gewann die Intensität der Kategorie 3 bei 0600 UTC zurück .
Der Tiefstand zerstreute schließlich am 4. Oktober südlich der mexikanischen Küste .
Er schrieb es im August wieder um und überreichte es Weird Tales im September .
2001 ernannte Präsident George W. Bush Aldrin zur Kommission für die Zukunft der amerikanischen Luft- und Raumfahrtindustrie .
Dann reiste er entlang der Küste nach Westen bis zum Hafen von Antalya .
Die Buren bildeten lose Milizen , die sie Kommandos nannten , und schmiedeten Bündnisse mit Khoisan-Gruppen , um Xhosa-Überfälle abzuwehren .
Nach seiner Rückkehr im Jahr 67 v. Chr. heiratete er Pompeia , eine Enkelin von Sulla , die er später im Jahre 61 v. Chr. nach ihrer Embroilment in der Bona Dea Skandal geschieden .
In den zweiten Innings des dritten Tests spielte Morris fließend , um 42 auf einem klebrigen Korb zu erreichen , bevor er auf seine Stümpfe trat .
In der Folge wurden zahlreiche Umbauten und Renovierungen durchgeführt .
Darauf folgten 2003 alle Alben in Asien und Osteuropa und 2004 alle in Japan .
Sting wehrte seinen Gegnern , bis Flair auftauchte .
Borman stand vor harten und manchmal feindlichen Fragen , vor allem von Donald Rumsfeld .
Wodehouse kehrte Ende 1910 nach England zurück , trat wieder in den Globus ein und trug auch regelmäßig zum Strand Magazine bei .
Poloniumvergiftung kann Übelkeit , Erbrechen , Anorexie und Lymphopenie verursachen .
Zuerst bemerkte die Crew einen seltsamen Geruch in ihren Raumanzügen , der die Versiegelung der Luke verzögerte .
Burke , Paine , Godwin und der Revolutionsstreit .
Hisashi Inoue , 75 , japanischer Pazifist Dramatiker , Lungenkrebs .
Sie werden dann in wütende Veränderungen der Eifersucht und Beschuldigung verwickelt .
264 gepanzerte Autos begannen in den Brückenköpfen abzusteigen .
B. Calvert auf Turnouts und der Wharton Schalter insbesondere " How A Railway Frog Point Works " YouTube .
Dies folgt aus Zorn Lemma , eine äquivalente Formulierung des Axiom der Wahl .
Nach dem Rennen erklärte Turcotte , dass " wenn Tentam kam zu ihm in der Rückenlehne ich nur zwitscherte zu ihm und er zog weg " .
Während der Paarung tritt eine " Kopulationsbindung " bei Säugetieren wie Fossas , Kaniden und japanischen Mardern auf .
Solche frühen Reformen halfen den Römern auch bei ihrer Eroberung des restlichen Italiens über Feinde wie die Samniten , Lateiner und Griechen .
Kazanjy , Proceedings of the 4th Caltrans Seismic Research Workshop , California Department of Transportation , Sacramento , July 1996 .
Die synkopierten Crotchets im Pedal unterbrechen auch die Fermata am Ende jeder Kantuslinie und geben so ein weiteres Gefühl der Unruhe .
Nach einem 52-Yard-Punt von Neill aus seiner eigenen Endzone tauschten die Teams Interzeptionen aus .
Die Vorhöfe öffnen sich in die Ventrikel über die Atrioventrikularventile , in der Atrioventrikularseptum vorhanden .
Bush schloss die US-Botschaft und entfernte die USA
Seine anderen Filme von 1972 wie Dil Daulat Duniya , Bawarchi , Joroo Ka Ghulam und Shehzada verdienten mehr als 4,5 Rs .
Zu Beginn der Regenzeit ließ er tatsächlich viele schianische und laotische Bataillone demobilisieren .
Der Zweite Italienische Unabhängigkeitskrieg von 1859 und seine Folgen
Während der Diffusion bricht ein Teil der Saccharose in umgekehrten Zucker ab .
Einige Werte , wie zum Beispiel die für Maltose und Glukose , variieren wenig .
Taylor , Michael J. H. Enzyklopädie der Luftwaffe der Welt .
Chemische Oxidation des Elektrolyten durch die Kathode .
Am 12. Oktober zog Petard nach Haifa , um den Kreuzer nach Alexandria zu begleiten .
Kidman gründete dann eine neue Band , Calipash , mit Gitarrist Thordendal , Bassist Peter Nordin und Schlagzeuger Niklas Lundgren .
Der Rat ernennt Älteste , um die Älteren zu regieren .
Presleys Freund Marty Lacker betrachtete Parker als " hustler and a con artist " .
Doch im Gegensatz zum Protestantismus und Katholizismus verbietet die Ostorthodoxe Kirche bis zu zwei Cousinen , zu heiraten .
Raven vergiftete ihn dann mit dem Gift in seinem blauen Ring , so dass es in ein Koma fällt .
Am 28. August landete der erste Herkules auf der neuen Start- und Landebahn .
Die japanischen Forderungen nach einem " Asien für die Asiatiker " haben viele kambodschanische Nationalisten gewonnen .
Siehe NHS Wales und NHS Schottland für Beschreibungen ihrer Entwicklungen ) .
Weitere wichtige Kräuter der Küche sind Thymian , Salbei , Rosmarin , Basilikum , Bohnenkraut , Fenchel , Majoran , Estragon , Oregano und Lorbeerblätter .
Neben dem WBO-Schweißgewichtstitel von Cotto und dem ersten WBC Diamond Belt .
Year One of Destiny beinhaltete zwei kleine Erweiterungen , The Dark below im Dezember 2014 und House of Wolves im Mai 2015 .
Roger Redfarn inszenierte und choreographierte Sheila O ' Neill .
Diese Produktion begeisterte konservative Kommentatoren , die sie als Erfolg über " politische Korrektheit " lobten .
Saint Patrick scheint Helios und Elias zu verdichten .
Etwas vernachlässigt von ihren Ehemännern unterhielten sich die Prinzessinnen ohne sie .
Scott gewann die Nominierung und Seward kämpfte für ihn .
Taft Avenue Flyover , Metro Manila Interchange Project Phase IV ) .
Anführer von drei Darfur-Stämmen verklagten den Staatsanwalt des IStGH Luis Moreno Ocampo wegen Verleumdung , Verleumdung und Entzündung von Hass und Tribalismus .
Zwischen 1836 und 1875 komponierte er mehrere Einzelwalzer und Polkas sowie Tanzsuiten .
Die Helix-Fahrbahn steigt über eine Entfernung von 4000 ft .
Selbst die besten Schriftsteller konnten sich oft nicht entziehen , die offiziellen Panegyriken über Kaiser und ihre Leistungen zu komponieren .
Sie trägt einen roten flachen Hut über einer kleinen Mütze oder einem Blumenkohl , der ihr Haar einengt .
Diese Krise machte die Tiers Parti lächerlich , während die Doktrinäre triumphierten .
Sie wurden von Saxophonist Don Myrick , Posaunist Louis Satterfield und Trompeter Rahmlee Davis und Michael Harris komponiert .
Eine riesige Ratte Kreatur , Herrscher der Horde von Ratten Kreaturen und Lakai des Herrn der Heuschrecken .
Anthemius freundliche Haltung gegenüber dem Ostreich verärgerte Ricimer , der ihn im März oder April 472 absetzte .
Die Robustheit und Ruhe der LCA erwies sich während der Operation Dragoon , der Invasion Südfrankreichs im Juli 1944 , als unschätzbar .
Krokodilianer zeigen ausgeprägten sexuellen Dimorphismus , mit Männchen wächst viel größer und schneller als Weibchen .
Zunächst agierte Alix Vater Guy of Thouars als Regent .
Eine Sanskrit-Inschrift in Höhle 20 von einem Jainism Anhänger datiert 425 CE .
Die Äbte dienten Neuenwalde als Beichtväter und überwachten die Einhaltung der Nonnen .
Er brennt einen Speer und brennt Flammen aus seinem Mund , wenn er wütend ist .
Ende 1816 kapitulierten schließlich die Rebellen auf Mescala Island .
Dobbs beleidigt den Jungen , willigt aber schließlich ein , seine letzten 20 Zentavos auf der Zeichnung zu riskieren .
Er bevorzugte traditionelle englische Gerichte wie gebratenes Rindfleisch und Kipper .
7 Caroline Garcia vor dem Sturz im Viertelfinale nach Daria Kasatkina .
Beatty nahm auf , dass Hardy kniete und Nelson auf die Wange küsste .
In der Geschichte zeugte Ken Denises Sohn Daniel .
Maximinus warnte Kaiser Constans vor den Ariern und enthüllte ihre Pläne .
Gail Robinson , 62 , amerikanischer Sopran , Komplikationen durch rheumatoide Arthritis .
Collier ' s Enzyklopädie mit Bibliographie und Index , 1950 .
Eine vorübergehende Beendigung der Feindseligkeiten , eine Geschichte von Tomasz Kamusella .
Das Schiff besteht aus deutschen Zerstörern , Torpedos und Kreuzfahrtschiffen .
Auch nach Galerius ' Duldungserlass im Jahr 311 verfolgt Maximinus weiter .
Sie ist gesprächig und spritzig , was die anderen Rookies manchmal ärgert .
Im Osten verbindet sie die Ostsee über den Skagerrak und Kattegat , enge Meerengen , die Dänemark von Norwegen bzw. Schweden trennen .
Custer angegriffen Hampton in der Schlacht von Hunterstützt auf der Straße zwischen Hunterstützt und Gettysburg , und Hampton Gegenangriff .
Die Partisanen überfielen und besiegten auch das verfolgte Regiment Major A.V.E .
Die Zusammensetzung der Piedras Grandes Einheit ist Andesit enthält Amphibol , basaltische Andesit und Hornblende .
Mit einem aus , Megan Bush Opfer bunt bewegt Bruder an zweiter Stelle .
Dazu gehören 195 Puerto Ricaner , 77 Mexikaner und 2 Kubaner .
Willkie schrieb sich Ende 1915 an der Indiana School of Law ein .
Quintus Fulvius marschierte dann durch keltiberisches Gebiet , verwüstete das Land und stürmte viele Festungen , bis die Celtiberianer kapitulierten .
In ihrem ersten Halbfinale seit 2011 schlug sie Nina Bratchikova .
Carapace Form ändert sich mit dem Wachstum , mit Wirbelsäulen immer schmaler und Pleural Scutes immer größer während der späten Ontogenie .
; 2005 plädiert ein Jugendlicher für schuldig wegen Brandstiftung , Verletzung einer Anerkennung und Besitz einer Waffe .
Erschüttert über den Gedanken , Emily mit Casey liebkosend , enthüllte Margo rachsüchtig Emily ' s Hooker Vergangenheit Tom und Casey .
Einige verwandte klinische Spezialitäten sind Neurologie , Neurochirurgie und Psychiatrie .
Gottscheerish oder Granish , der traditionelle deutsche Dialekt des Kreises Gottschee , ist vom Aussterben bedroht .
Adam erliegt Eva ebenso wie Gawain sich Bertilaks Frau unterwirft , indem er den Gürtel annimmt .
Historisch führte die regierende Ganga Dynastie die Ratha Yatra bei der Fertigstellung des Jagannatha Tempels um 1150 n. Chr. ein .
Elek beharrte darauf , dass die außerirdische Färbung dem menschlichen Hautton viel näher sei als das ursprünglich gewählte gelbliche Pigment .
Am 1. Juli 2011 folgte Dr. Alex Curtis Edward Shanahan als Leiter von Choate .
Daher sind Coho in der Reihenfolge der Prävalenz am meisten infiziert , gefolgt von Sockeye , Chinook , Chum und Pink .
515 Carlos Cortez und seine Rhythm Kings Mambo Costa Rica / Rose Of Tanger 1955
Friedensvertrag zwischen Bosniaken und Kroaten durch die Vereinigten Staaten , Föderation von Bosnien und Herzegowina gebildet .
Auf der Alexandru Ioan Cuza Avenue befindet sich ein Kasemat aus der VIII ravelin .
Handbuch der amerikanischen Indianer U. S. Bureau of American Ethnology .
Die PVA überrannte praktisch die Bataillonpositionen auf Hill 123 .
Im Juni ziehen die Generalstaatsanwälte der Virgin Islands der Vereinigten Staaten die Vorladung zurück .
Breckinridge war an beiden Flanken nur schlecht beziffert und widersetzte sich den Kräften von Stoneman , bis er mit Munition niedrig lief .
Circe später wieder auferstanden Hippolyta in Wonder Woman Vol 3 # 8 .
Um Megatron zu stoppen , restaurierte Autobot medic Ratchet später Jazz als klassischen Pretender , zusammen mit Grimlock und Bumblebee .
Moira beginnt als Barmaid in The Woolpack zu arbeiten , und sie kollidiert häufig mit dem Küchenchef Marlon Dingle .
Jim und Marian Jordan selbst erschienen gelegentlich auf anderen Programmen , abseits ihrer Fibber und Molly Charaktere .
Scarab Käfer hielten religiösen und kulturellen Symbolismus in Altägypten , Griechenland und einigen schamanistischen Kulturen der Alten Welt .
Benzodiazepine binden an der Schnittstelle der Subeinheiten π und π am GABAA-Rezeptor .
Sie machte Gottlob Frege ungünstig , der seinen Psychologismus kritisierte .
Regiment Deployed from the Seattle Port of Embarkation on 24 December 1940 .
Höhere Estrinspiegel im Blut verursachen weniger oder gar keinen Eisprung und setzen das Endometrium kontinuierlich hohen Östrogenen aus .
Crawford und Tone flammten viel später ihre Freundschaft wieder an , und Tone schlug sogar 1964 vor , sie wieder zu heiraten .
Die Lachsbestände gingen nach der Gründung der Kanonen im Jahr 1867 dramatisch zurück .
Am 14. Februar bestätigte Mitt Romney McCain offiziell .
Die Donner nehmen Drohungen an wie die Meister des Bösen , Graviton und die Geißel der Unterwelt .
Andere bemerkenswerte Fische sind Pinstripe Dambas , Mudskippers , tropische Rifffische und verschiedene Lake Malawi cichlids .
Als Andy seinen Landrover abstürzt , bittet er Katie um Hilfe und sie überzeugt ihn , einen Berater zu sehen .
Absolvent der Wharton School der University of Pennsylvania
Zusätzlich rief er " Schrei nach mir Long Beach ! "
Auch als " Brückenschlag geerdet Doppel-Hühnerflügel " oder " Rinderverstümmelung " bezeichnet .
Sein väterlicher Großvater Henry Haynes war Schmied und Mechaniker und unterrichtete Haynes über Metallurgie .
Am 21. Oktober eroberte Naiad , jetzt unter dem Kommando von Hill , das Schiff Minerva .
Am 15. April bei Lockdown , besiegte Hardy Angle in einem Rematch , bestritten in einem Stahlkäfig .
Die Ladegeräte beendet mit 325 Meter der Straftat an die Buccaneers war 125 .
Die Schützen feuerten am Rande der kleineren Gruben .
Sitzvermietungen marginalisierten die Armen einer Kapelle und priesen die Reichen .
Die Italiener protestierten energisch gegen die Gefangennahme von Đurišić , aber die Deutschen beherrschten sie .
Anschließend gewann er in seinen Viertelfinal- und Halbfinalspielen gegen Tomáš Berdych bzw. Roger Federer .
Trotz seiner Herzlichkeit , Rücksichtslosigkeit , Willkür und Egoismus gelingt es ihm immer noch , am Ende durchzukommen .
Athena verwandelte Arachne in eine Spinne , um sie als Weberin herauszufordern und / oder einen Wandteppich zu weben , der die Götter beleidigte .
Der sibirische Tiger reiste einst durch Korea , Nordchina , den russischen Fernen Osten und die östliche Mongolei .
Laut Ralph von Diceto zogen Richards Höflinge die Juden aus , prügelten sie und warfen sie dann vor Gericht .
South Park , Saturday Night Live , Inside Amy Schumer und Family Guy verspotteten Cosby auch wegen seines angeblichen sexuellen Missverhaltens .
Hitlers rasche Siege über Frankreich und die Niederlande deflatierten den Willen des deutschen Militärs , Hitler zu widerstehen .
Er vereitelte jeden Versuch der Osmanen , Albanien wiederzuerlangen , das sie sich als Sprungbrett für die Invasion Italiens und Westeuropas vorstellten .
Dann duckte sie ihr Periskop und Taube , um nicht vom ersten Ziel gestampft zu werden .
Alfons Rebane löste seine Truppen mit schweren Verlusten aus .
Er unterstützte die Römer bei der Unterdrückung des Aufstandes durch den Prätendenten von Pergamon , Eumenes III .
Seit ihrem ersten Auftritt in ' Sarvanash ' ist sie nie wieder aufgetaucht .
Vor dem Trinken erklärt Loki einen Toast zu den Göttern , mit einer speziellen Ausnahme für Bragi .
Ein Untergrundstück beinhaltet die Fehde zwischen Sepulchraves treuem Diener Flay und dem Küchenchef Swelter , die damit endet , dass sie kämpfen und Swelter getötet wird .
Das kaufte Meister Fledermäuse Ian Botham auf die Pforte , aber er war für eine Ente zwei Overs später , von Hohns gekrümmt .
Vernal Charles , 27 , südafrikanischer Cricketer , Verkehrsunfall .
George Challenor spielte eine hervorragende Innings von 97 in den ersten Innings .
Das 2. Bataillon , 17. Infanterie , überquerte diese Fußgängerbrücke mühelos am 14. und ging zum Angriff über .
Edge besiegte Foley , nachdem er ihn durch einen flammenden Tisch gespäht hatte .
Zentralasien enthält auch die Berggras- und Buschland , Wüsten und xerische Buschland sowie gemäßigte Nadelwälder Biomassen .
Im Gegensatz zu den Annahmen von Historikern wie Marc Bloch gedeihte die Sklaverei als Institution im mittelalterlichen christlichen Iberia .
Dies führt schließlich zu seinem Untergang durch einen Schuss an die Stirn .
Der britische Kapitän Samuel Wallis fuhr auf Rongerik und Rongelap Atollen , während er von Tahiti nach Tinian segelte .
Duke erholte sich , um ihre nächsten fünf zu gewinnen ; Topping South Carolina , Florida , Kalifornien , Clemson und NC State .
Ein Prodigium signalisierte göttlichen Unmut über eine religiöse Straftat und muss sühnt werden , um zerstörerischere Ausdrücke göttlichen Zorns abzuwenden .
Sishin benutzt alle verbliebenen Schlachtschiffe als ' Schläger ' und schafft es , zwei " Imperial Tigers " zu zerschlagen .
Diana und Callisto , Diana und ihre Nymphe gehen von der Jagd ab , Diana und ihre Nymphen sind von A Faun von Rubens überrascht .
Die Rettungsboote und Trichter wurden um zehn Prozent geschrumpft .
Dieses Finale schnappte eine Reihe von vier aufeinanderfolgenden Major Finale von Djokovic und Nadal erreicht .
Zwei frühe Dochte von Neil Carter halfen auch den Warwickshire Feldversuchen .
Über den Horror hinaus schrieb Poe auch Satiren , Humorgeschichten und Hasen .
SFR , SF Collective Get Stupped , Jacob Blake Larrikin , Perry Middlemiss & Irwin Hirsh Science Fiction , Van Ikin
Während der Reise verschwindet der erste Kumpel Arrow , ein Trunkenbold , über Bord .
