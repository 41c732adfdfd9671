"""Function words that a query can do without, per language.

Only closed classes: articles, pronouns, prepositions, conjunctions, auxiliaries and question
words. A language without a list loses little: BM25 gives words that stand everywhere next to
no weight. Words are written as the analyser sees them before stemming: lower case, without
apostrophes (French, Italian and Catalan: what stands before the apostrophe).
"""

from __future__ import annotations

from typing import Final

_LISTS: Final[dict[str, str]] = {
    "english": """
        a about after again all am an and any are arent as at be because been before being
        below between both but by can cannot cant could couldnt did didnt do does doesnt doing
        dont down during each few for from further had hadnt has hasnt have havent having he
        her here hers herself him himself his how i if im in into is isnt it its itself ive
        just me more most my myself no nor not of off on once only or other our ours ourselves
        out over own same she should shouldnt so some such than that the their theirs them
        themselves then there these they this those through to too under until up very was
        wasnt we were werent what when where which while who whom whose why will with wont
        would wouldnt you your yours yourself yourselves
        """,
    "german": """
        aber als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine
        dem den denn der des dessen deren die dies diese diesem diesen dieser dieses dir doch dort
        du durch ein eine einem einen einer eines er es etwas euch euer für gegen gewesen hab habe
        haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in
        indem ins ist ja jede jedem jeden jeder jedes jener jetzt kann kein keine können könnte
        man manche mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder ohne sehr
        sein seine seinem seinen seiner sich sie sind so soll sollte sondern sonst über um und uns
        unser unter vom von vor war waren warum was weil welche welchem welchen welcher welches
        wenn wer werde werden wessen wie wieder will wir wird wo wollen wurde wurden würde zu zum
        zur zwar zwischen
        """,
    "french": """
        à ai aie ait as au aux avait avec avez avons ayant c ce cela ces cet cette ceux chez
        comme comment d dans de des dont du elle elles en encore es est et était étaient étant
        été être eu eux fut furent il ils j je l la le les leur leurs lui m ma mais me même mes
        moi mon n ne ni nos notre nous on ont ou où par pas pendant peut plus pour pourquoi
        qu quand que quel quelle quelles quels qui quoi s sa sans se sera seront ses si soit son
        sont sous sur t ta te tes toi ton tous tout toute toutes tu un une vos votre vous y
        """,
    "spanish": """
        a al algo algunas algunos ante antes como con contra cual cuál cuando cuándo cuánto cómo
        de del desde donde dónde durante e el él ella ellas ellos en entre era eran eres es esa
        esas ese eso esos esta está estaba estado están estas este esto estos fue fueron ha había
        habían han hasta hay he la las le les lo los más me mi mis mucho muy nada ni no nos
        nosotros nuestra nuestro o os otra otro para pero poco por porque qué que quien quién
        quienes se sea ser si sí sido sin sobre son su sus también tanto te tiene tienen todo
        todos tu tú tus un una uno unos vosotros y ya yo
        """,
    "italian": """
        a ad agli ai al all alla alle allo anche avere aveva c che chi ci coi col come con contro
        cosa cui d da dagli dai dal dall dalla dalle dallo degli dei del dell della delle dello
        di dove e è ed era erano essere fra fu furono gli ha hanno ho i il in io l la le lei li lo
        loro lui ma mi mia mio ne negli nei nel nell nella nelle nello noi non nostra nostro o per
        perché più quale quali quando quanto quella quelle quelli quello questa queste questi
        questo s se sei si sia sono su sua sue sugli sui sul sull sulla sulle sullo suo suoi ti
        tra tu tua tuo tutti tutto un una uno vi voi
        """,
    "portuguese": """
        a à ao aos aquela aquele as às até com como da das de dela dele deles depois do dos e é
        ela elas ele eles em entre era eram essa esse esta está estão este eu foi for foram há
        isso isto já lhe lhes mais mas me mesmo meu minha muito na não nas nem no nos nós nossa
        nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando
        quanto que quê quem se sem ser será seu seus só sua suas são também te tem têm tinha tu um
        uma uns você vocês vos
        """,
    "dutch": """
        aan al als bij daar dan dat de der deze die dit doen door dus een en er ge geen had heb
        hebben heeft hem het hier hij hoe hun ik in is ja je kan kon kunnen maar me men met mij
        mijn naar niet niets nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit
        uw van veel voor waar waarom wanneer want waren was wat we wel welke werd werden wie wij
        wil worden wordt zal ze zelf zich zij zijn zo zonder zou
        """,
    "swedish": """
        alla allt än är att av blev bli blir de dem den denna deras dess dessa det detta dig din
        du där då efter ej eller en er ett från för ha hade han hans har henne hennes hon honom hur
        här i icke ingen inom inte jag ju kan kunde man med mellan men mig min mitt mot mycket ni
        nu när någon något några och om oss på samma sedan sig sin sina sitt själv skulle som så
        till under upp ut utan vad var varför vara vart vem vi vid vilka vilken vilket vår
        """,
    "danish": """
        af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din du
        efter eller en end er et for fra før ham han hans har havde have hende hendes her hos hun
        hvad hvem hver hvilken hvis hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kan kunne
        man mange med meget men mig min mod ned noget nogen nogle nu når og også om op os over på
        selv sig sin skal skulle som sådan til ud under var vi vil ville vor være været
        """,
    "norwegian": """
        alle at av ble bli blir da de deg dem den denne der deres det dette din du eller en enn er
        et etter for fra før ha hadde han hans har henne hennes her hos hun hva hvem hvilken hvis
        hvor hvordan hvorfor i ikke inn jeg kan kunne man mange med meg mellom men min mot mye ned
        noe noen nå når og også om opp oss over på seg selv sin skal skulle som så til ut under
        var ved vi vil ville vår være vært å
        """,
    "russian": """
        а без был была были было быть в вам вас весь во вот все всех вы где да для до его ее её
        если есть еще ещё же за и из или им их к как какая какие какой когда кто ли между меня
        мне мой мы на над не него нее неё нет ни них но ну о об он она они оно от по под после
        почему при про с свой себя со так также такой там тем то того тоже той только том ты у
        уже чего чем что чтобы эта эти это этого этой этот я
        """,  # noqa: RUF001
}

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}
